/** When a request is sent again: the same policy as the Python client's. */

export interface Retries {
  tries: number;
  /** No wait begins that would end later than this after the first try. */
  withinMs: number;
  firstWaitMs: number;
  longestWaitMs: number;
}

type Fetch = (request: Request) => Promise<Response>;

const DEFAULTS: Retries = { tries: 8, withinMs: 60_000, firstWaitMs: 500, longestWaitMs: 30_000 };
const NEVER_DONE = new Set([408, 429]);
const PERHAPS_DONE = new Set([502, 503, 504]);

/** `fetch`, until an answer is definite. What may have been done is sent again where that is as good as once. */
export function retrying(send: Fetch, given: Partial<Retries> = {}): Fetch {
  const retries = { ...DEFAULTS, ...given };
  return async (request) => {
    const began = performance.now();
    const repeatable = request.method === "GET" || request.headers.has("Idempotency-Key");
    for (let tried = 1; ; tried++) {
      const outcome = await send(request.clone()).catch((fault: unknown) => fault);
      const answer = outcome instanceof Response ? outcome : undefined;
      const doubtful = answer === undefined || PERHAPS_DONE.has(answer.status);
      const again = !request.signal.aborted && (doubtful ? repeatable : NEVER_DONE.has(answer.status));
      const wait = waitAfter(tried, answer, retries);
      if (again && tried < retries.tries && performance.now() - began + wait <= retries.withinMs) {
        await answer?.body?.cancel();
        await new Promise((wake) => setTimeout(wake, wait));
      } else if (answer === undefined) {
        throw outcome;
      } else {
        return answer;
      }
    }
  };
}

/** In milliseconds: what `Retry-After` says, else twice as long as before, and a bit. */
function waitAfter(tried: number, answer: Response | undefined, retries: Retries): number {
  const said = answer?.headers.get("Retry-After") ?? "";
  const asked = /^\d+$/.test(said) ? Number(said) * 1_000 : Date.parse(said) - Date.now();
  if (!Number.isNaN(asked)) return Math.max(0, asked) + Math.random() * retries.firstWaitMs;
  return Math.min(retries.longestWaitMs, retries.firstWaitMs * 2 ** (tried - 1)) * (0.5 + Math.random() / 2);
}
