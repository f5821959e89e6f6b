/** When a request is sent again: the Python client's policy. */
export interface Retries {
  tries: number;
  /** No wait begins that would end later than this after the first try. */
  withinMs: number;
  /** How long a try may wait for its answer; of what is no JSON, such as a stream of events, for its head alone. */
  tryMs: number;
  firstWaitMs: number;
  longestWaitMs: number;
}

export type Fetch = (request: Request) => Promise<Response>;

const DEFAULTS: Retries = { tries: 8, withinMs: 60_000, tryMs: 30_000, firstWaitMs: 500, longestWaitMs: 30_000 };
const REPEATABLE = new Set(["GET", "HEAD", "PUT", "DELETE"]);
const CANCEL = /\/v1\/jobs\/[^/]+\/cancel$/;
const NEVER_DONE = new Set([408, 429]);
const NOT_IMPLEMENTED = 501;

/** `fetch`, until an answer is definite. What may have been done is sent again where that is as good as once. */
export function retrying(send: Fetch, given: Partial<Retries> = {}): Fetch {
  const retries = { ...DEFAULTS, ...given };
  return async (request) => {
    const began = performance.now();
    for (let tried = 1; ; tried++) {
      const outcome = await answered(send, request, retries.tryMs).catch((fault: unknown) => fault);
      const answer = outcome instanceof Response ? outcome : undefined;
      const wait = waitAfter(tried, answer, retries);
      const isLast = tried >= retries.tries || performance.now() - began + wait > retries.withinMs;
      if (isLast || request.signal.aborted || !isSentAgain(request, answer)) {
        if (answer === undefined) throw outcome;
        return answer;
      }
      await answer?.body?.cancel();
      await pause(wait, request.signal);
    }
  };
}

/** One try. An answer in JSON has come as a whole. */
async function answered(send: Fetch, request: Request, limitMs: number): Promise<Response> {
  const late = new AbortController();
  const reason = new DOMException(`no answer within ${limitMs} ms`, "TimeoutError");
  const timer = setTimeout(() => late.abort(reason), limitMs);
  try {
    const signal = AbortSignal.any([request.signal, late.signal]);
    const answer = await send(new Request(request.clone(), { signal }));
    if (/json/.test(answer.headers.get("Content-Type") ?? "")) await answer.clone().arrayBuffer();
    return answer;
  } finally {
    clearTimeout(timer);
  }
}

/** Whether nothing was done, or to do it twice is as good as once. */
function isSentAgain(request: Request, answer: Response | undefined): boolean {
  if (answer !== undefined && NEVER_DONE.has(answer.status)) return true;
  if (answer !== undefined && (answer.status < 500 || answer.status === NOT_IMPLEMENTED)) return false;
  const cancels = request.method === "POST" && CANCEL.test(new URL(request.url).pathname);
  return REPEATABLE.has(request.method) || request.headers.has("Idempotency-Key") || cancels;
}

/** Wait, and no longer than the request is wanted: throws its signal's reason. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((wake, fail) => {
    const end = () => {
      clearTimeout(timer);
      fail(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      wake();
    }, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}

/** In milliseconds: what `Retry-After` says, else twice as long as before, and a bit. */
function waitAfter(tried: number, answer: Response | undefined, retries: Retries): number {
  const said = answer?.headers.get("Retry-After") ?? "";
  const asked = /^\d+$/.test(said) ? Number(said) * 1_000 : Date.parse(said) - Date.now();
  if (!Number.isNaN(asked)) return Math.max(0, asked) + Math.random() * retries.firstWaitMs;
  return Math.min(retries.longestWaitMs, retries.firstWaitMs * 2 ** (tried - 1)) * (0.5 + Math.random() / 2);
}
