/** Postroom's HTTP API, typed by its own description: every route, with retries of what got no definite answer. */

import createClient, { type Client } from "openapi-fetch";

import { retrying, type Retries } from "./retries.js";
import type { components, paths } from "./schema.js";

export type { Retries } from "./retries.js";
export type { components, paths } from "./schema.js";

export type Postroom = Client<paths>;
export type Job = components["schemas"]["JobView"];
/** Why a request was refused: `field` and `reason` say what is wrong. */
export type Problem = components["schemas"]["Problem"];

const ENDED = new Set<Job["state"]>(["succeeded", "failed", "dead", "canceled"]);

export interface Options {
  retries?: Partial<Retries>;
  fetch?: (request: Request) => Promise<Response>;
}

/** A client for the org of an API key. Each method gives `data`, or `error`, which is a `Problem`. */
export function createPostroom(url: string, apiKey: string, options: Options = {}): Postroom {
  return createClient<paths>({
    baseUrl: url,
    headers: { Authorization: `Bearer ${apiKey}` },
    fetch: retrying(options.fetch ?? ((request) => fetch(request)), options.retries),
  });
}

export interface Waiting {
  /** Without it, for as long as the job takes. */
  timeoutMs?: number;
  onChange?: (job: Job) => void;
  longestPauseMs?: number;
}

/** Wait until a job has ended, however it ends. Throws a `Problem` that refuses, or an error when the time is over. */
export async function waitForJob(postroom: Postroom, jobId: string, waiting: Waiting = {}): Promise<Job> {
  const began = performance.now();
  const longest = waiting.longestPauseMs ?? 5_000;
  let seen = "";
  let pause = Math.min(200, longest);
  for (;;) {
    const { data, error } = await postroom.GET("/v1/jobs/{job_id}", { params: { path: { job_id: jobId } } });
    if (error !== undefined) throw Object.assign(new Error(error.detail ?? error.title), error);
    const now = JSON.stringify([data.state, data.attempt, data.progress]);
    if (now !== seen) {
      seen = now;
      waiting.onChange?.(data);
    }
    if (ENDED.has(data.state)) return data;
    const left = began + (waiting.timeoutMs ?? Infinity) - performance.now();
    if (left <= 0) throw new Error(`job ${jobId} is ${data.state}, and goes on`);
    await new Promise((wake) => setTimeout(wake, Math.min(pause, left)));
    pause = Math.min(pause * 1.5, longest);
  }
}
