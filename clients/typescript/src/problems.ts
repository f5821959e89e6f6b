/** What a request was refused with, whoever answered: Postroom by a `Problem`, a proxy in its own way. */
import type { Fetch } from "./retries.js";
import type { components } from "./schema.js";

/** Why a request was refused: `field` and `reason` say what is wrong. */
export type Problem = components["schemas"]["Problem"];

const PROBLEM = "application/problem+json";
const NOT_MODIFIED = 304;

/** `fetch`, whose refusals are all a `Problem`. */
export function explained(send: Fetch): Fetch {
  return async (request) => {
    const answer = await send(request);
    if (answer.ok || answer.status === NOT_MODIFIED || isProblem(answer)) return answer;
    await answer.body?.cancel();
    const { status, statusText } = answer;
    const problem: Problem = {
      type: "about:blank",
      title: statusText || `HTTP ${status}`,
      status,
      code: "not_postroom",
      detail: `${answer.url} answered ${status}, and not as Postroom does: is it the gateway's address?`,
    };
    const headers = new Headers(answer.headers);
    for (const name of ["Content-Length", "Content-Encoding"]) headers.delete(name);
    headers.set("Content-Type", PROBLEM);
    return Response.json(problem, { status, statusText, headers });
  };
}

function isProblem(answer: Response): boolean {
  const kind = answer.headers.get("Content-Type") ?? "";
  return kind.startsWith(PROBLEM) && answer.headers.get("Content-Length") !== "0";
}
