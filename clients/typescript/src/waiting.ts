/** Waiting for a job's end. */
import type { Postroom } from "./index.js";
import { pause } from "./retries.js";
import type { components } from "./schema.js";

export type Job = components["schemas"]["JobView"];

const ENDED = new Set<Job["state"]>(["succeeded", "failed", "dead", "canceled"]);
/** What a timer of JavaScript takes at most: 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface Waiting {
  /** For looks, their retries and the pauses between them. Without it, for as long as the job takes; 0 looks once. */
  timeoutMs?: number;
  onChange?: (job: Job) => void;
  longestPauseMs?: number;
}

/** Wait until a job has ended, however it ends. Throws a `Problem` that refuses, or an error when the time is over. */
export async function waitForJob(postroom: Postroom, jobId: string, waiting: Waiting = {}): Promise<Job> {
  const { timeoutMs, onChange, longestPauseMs = 5_000 } = waiting;
  const signal = timeoutMs ? AbortSignal.timeout(Math.min(timeoutMs, LONGEST_TIMER_MS)) : undefined;
  let seen: Job | undefined;
  let pauseMs = Math.min(200, longestPauseMs);
  try {
    for (;;) {
      const job = await look(postroom, jobId, signal);
      if (JSON.stringify(changing(job)) !== JSON.stringify(seen && changing(seen))) onChange?.(job);
      seen = job;
      if (ENDED.has(job.state)) return job;
      if (timeoutMs === 0) throw notEnded(jobId, seen);
      await pause(pauseMs, signal);
      pauseMs = Math.min(pauseMs * 1.5, longestPauseMs);
    }
  } catch (fault) {
    throw signal !== undefined && fault === signal.reason ? notEnded(jobId, seen) : fault;
  }
}

async function look(postroom: Postroom, jobId: string, signal: AbortSignal | undefined): Promise<Job> {
  const { data, error } = await postroom.GET("/v1/jobs/{job_id}", { params: { path: { job_id: jobId } }, signal });
  if (error !== undefined) throw Object.assign(new Error(error.detail ?? error.title), error);
  if (typeof data?.state !== "string") throw new Error("the answer is none of Postroom's: is it the gateway's address?");
  return data;
}

function changing(job: Job): unknown {
  return [job.state, job.attempt, job.progress];
}

function notEnded(jobId: string, seen: Job | undefined): Error {
  return new Error(seen ? `job ${jobId} is ${seen.state}, and goes on` : `there was no answer about job ${jobId} in time`);
}
