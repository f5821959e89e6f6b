// Keys and what is live. Every page works without this file.
(() => {
  "use strict";
  const base = document.documentElement.dataset.base;
  document.documentElement.classList.add("js");
  let waitsForLetter = false, source = null, watched = "", isPaused = false, failures = 0, asking = null, askedAt = 0;

  const lines = () => [...document.querySelectorAll("main tbody tr")];
  const current = () => document.querySelector("main tbody tr.current");
  const isTyping = (target) => target.closest("input, select, textarea, [contenteditable]") !== null;

  function move(by) {
    const all = lines();
    if (!all.length) return;
    const at = all.indexOf(current());
    const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    all.forEach((line) => line.classList.toggle("current", line === next));
    (next.querySelector("a.open") || next.querySelector("a"))?.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  const deeds = {
    "?": () => document.getElementById("keys")?.showModal(),
    "/": () => document.getElementById("search")?.focus(),
    f: () => document.querySelector("main :is(.filters, .line) :is(input:not([type=hidden]), select)")?.focus(),
    j: () => move(1),
    k: () => move(-1),
    x: () => current()?.querySelector("input[type=checkbox]")?.click(),
    Enter: () => current()?.querySelector("a.open")?.click(),
    t: () => document.querySelector("#theme button")?.click(),
    ".": () => {
      isPaused = !isPaused;
      isPaused ? close("paused") : open();
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && isTyping(event.target)) return event.target.blur();
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    if (waitsForLetter) {
      waitsForLetter = false;
      document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`)?.click();
      return event.preventDefault();
    }
    if (event.key === "g") {
      waitsForLetter = true;
      setTimeout(() => (waitsForLetter = false), 1500);
      return;
    }
    // A link or a button that has the focus is opened by the browser.
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
    if (Object.hasOwn(deeds, event.key)) {
      event.preventDefault();
      deeds[event.key]();
    }
  });

  document.addEventListener("change", (event) => event.target.closest("form[data-sends]")?.requestSubmit());
  document.addEventListener("click", (event) => {
    const menu = document.querySelector("details.menu[open]");
    if (menu && !menu.contains(event.target)) menu.open = false;
    const line = event.target.closest("tr[data-href]");
    if (line && !event.target.closest("a, button, input, label") && !String(getSelection())) line.querySelector("a.open")?.click();
  });

  function say(state) {
    const shown = document.getElementById("attention");
    if (shown) shown.dataset.live = state;
  }

  function close(state) {
    source?.close();
    source = null;
    say(state);
  }

  const live = () => document.querySelector("[data-watch]");

  // The head's numbers, and whether the thing of the page has changed, by server-sent events. Hidden pages close their
  // stream: an operator has four.
  function open() {
    const watch = live()?.dataset.watch ?? "";
    if (source && watch !== watched) close("hidden");
    if (source || isPaused || document.hidden || !(watch || document.getElementById("attention"))) return;
    watched = watch;
    source = new EventSource(`${base}/pulse${watch && `?watch=${watch}`}`);
    source.addEventListener("open", () => {
      failures = 0;
      say("live");
    });
    source.addEventListener("attention", (event) => {
      const shown = document.getElementById("attention");
      if (shown) shown.innerHTML = event.data;
    });
    source.addEventListener("changed", refresh);
    source.addEventListener("over", () => close("over"));
    source.addEventListener("error", () => {
      failures += 1;
      if (failures < 3 && source?.readyState !== EventSource.CLOSED) return say("lost");
      close("lost");
      setTimeout(open, 10000);
    });
  }

  // The part of a page that is live is asked for anew, each 2 s at most; not while it is paused or hidden, and no error
  // takes it away.
  async function ask() {
    asking = null;
    askedAt = Date.now();
    const part = live();
    if (!part || isPaused || document.hidden) return;
    const answer = await fetch(location.href).catch(() => null);
    if (!answer?.ok || answer.redirected || !part.isConnected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    if (!fresh) return;
    for (const one of part.querySelectorAll("details")) (same(one, part, fresh) ?? one).open = one.open;
    part.replaceWith(fresh);
    window.htmx?.process(fresh);
    // Where what had the focus is gone, the next Tab goes on at the page's head.
    if (focused) (same(focused, part, fresh) ?? document.getElementById("main")).focus({ preventScroll: true });
    open();
  }

  // What is in the fresh part where a link, a button or a fold was: by its address, or else by its kind and number.
  function same(one, part, fresh) {
    const href = one.getAttribute("href");
    const alike = href ? `[href="${CSS.escape(href)}"]` : one.hasAttribute("tabindex") ? "[tabindex]" : one.tagName;
    return fresh.querySelectorAll(alike)[[...part.querySelectorAll(alike)].indexOf(one)];
  }

  function refresh() {
    asking ??= setTimeout(ask, Math.max(0, askedAt + 2000 - Date.now()));
  }

  // What no change of the thing itself says: how many are before it, and what a lost stream would have said.
  setInterval(() => live() && Date.now() - askedAt > (source ? 30000 : 10000) && refresh(), 10000);

  document.addEventListener("visibilitychange", () => (document.hidden ? close("hidden") : open()));
  document.addEventListener("htmx:afterSettle", () => {
    open();
    if (source) say("live");
  });
  open();
})();
