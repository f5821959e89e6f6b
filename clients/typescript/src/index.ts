/** Postroom's HTTP API, typed by its own description: every route, with retries of what got no definite answer. */

import createClient, { type Client } from "openapi-fetch";

import { explained } from "./problems.js";
import { retrying, type Fetch, type Retries } from "./retries.js";
import type { paths } from "./schema.js";

export type { Problem } from "./problems.js";
export type { Retries } from "./retries.js";
export type { components, paths } from "./schema.js";
export { waitForJob, type Job, type Waiting } from "./waiting.js";

export type Postroom = Client<paths>;

export interface Options {
  retries?: Partial<Retries>;
  fetch?: Fetch;
}

/** A client for the org of an API key. Each method gives `data`, or `error`, which is a `Problem`. */
export function createPostroom(url: string, apiKey: string, options: Options = {}): Postroom {
  const key = apiKey.trim(); // a file that is mounted ends with a line
  // What fetch says of a header that it cannot send, it says with the whole header.
  if (!/^[!-~]+$/.test(key)) throw new TypeError("apiKey: is empty, or carries what no key carries");
  return createClient<paths>({
    baseUrl: url,
    headers: { Authorization: `Bearer ${key}` },
    fetch: explained(retrying(options.fetch ?? ((request) => fetch(request)), options.retries)),
  });
}
