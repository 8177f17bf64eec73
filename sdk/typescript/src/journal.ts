// Steps that must not be paid for twice: begin, run, complete.
import { inspect } from "node:util";

import { argsHash, plainJson } from "./canonical.js";
import { JSON_BODY, type Connection } from "./connection.js";
import { determinismErrorOf, DeterminismError, StepLostError, UnansweredError } from "./errors.js";
import { runInside } from "./inside.js";
import type { Json, Question } from "./types.js";

const ERROR_CHARACTERS_MAX = 2000; // the API takes 8192 bytes of UTF-8
const POLL_MS = 30_000; // the longest wait of the API

export interface StepOptions {
  // An effect costs money, or is visible outside the workspace; a pure step may be repeated. Default: "effect".
  kind?: "pure" | "effect";
  // The policy for a step that a process which is gone has begun. Default: re_execute for pure steps, ask for
  // effects.
  onLost?: "re_execute" | "ask" | "fail";
  // With ask: how many milliseconds to wait for a person, then UnansweredError. Default: for ever.
  wait?: number;
}

interface Begun {
  answer: "run" | "done" | "lost";
  execution?: number;
  result?: Json;
  on_lost?: "ask" | "fail";
  question?: string;
}

// By episode and key, for all connections: Pawl treats all calls of one process as one run of the step.
const running = new Map<string, { hash: string; result: Promise<unknown> }>();

// Results of runs whose step could not be completed. A repeated call stores the result if it can, and does not run
// again.
const ran = new Map<string, { execution: number | undefined; result: unknown }>();

export class Journal {
  private readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  // A call during a run of the same step in this process shares that run.
  step<T>(key: string, options: StepOptions, args: unknown, run: () => Promise<T> | T): Promise<T> {
    const hash = argsHash(args);
    const name = `${this.connection.episode}\n${key}`;
    const twin = running.get(name);
    if (twin !== undefined) {
      if (twin.hash !== hash) return Promise.reject(new DeterminismError(key, twin.hash, hash));
      return twin.result as Promise<T>;
    }
    const result = this.journaled(name, key, options, hash, run).finally(() => running.delete(name));
    running.set(name, { hash, result });
    return result;
  }

  private async journaled<T>(
    name: string, key: string, options: StepOptions, hash: string, run: () => Promise<T> | T,
  ): Promise<T> {
    const begun = await this.begin(key, options, hash);
    if (begun.answer === "done") {
      ran.delete(name);
      return begun.result as T;
    }
    let known = ran.get(name);
    if (known === undefined || known.execution !== begun.execution) {
      known = { execution: begun.execution, result: await this.run(key, run) };
      ran.set(name, known);
    }
    // The first call returns what the next process will read: plain JSON. A result that JSON cannot represent leaves
    // the step begun. To record a failure would be wrong, since the step did happen.
    const text = plainJson(known.result, `the result of ${key}`);
    await this.connection.ask({
      method: "POST", path: "/v1/steps/complete", body: `{"key":${JSON.stringify(key)},"result":${text}}`,
      headers: JSON_BODY,
    });
    ran.delete(name);
    return JSON.parse(text) as T;
  }

  private async run<T>(key: string, run: () => Promise<T> | T): Promise<T> {
    try {
      return await runInside({ episode: this.connection.episode, what: "step", name: key }, run);
    } catch (error) {
      await this.fail(key, error);
      throw error;
    }
  }

  // Without this report the step is lost. The original error is thrown in any case.
  private async fail(key: string, thrown: unknown): Promise<void> {
    try {
      const text = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : typeof thrown === "string" ? thrown : inspect(thrown);
      await this.connection.post("/v1/steps/fail", { key, error: text.slice(0, ERROR_CHARACTERS_MAX).toWellFormed() });
    } catch {
      // The original error is more useful.
    }
  }

  private async begin(key: string, options: StepOptions, hash: string): Promise<Begun> {
    const body = { key, kind: options.kind ?? "effect", args_hash: hash, ...(options.onLost && { on_lost: options.onLost }) };
    const until = options.wait === undefined ? Infinity : performance.now() + options.wait;
    for (;;) {
      const begun = await this.connection.postFor<Begun>("/v1/steps/begin", body).catch((error: unknown) => {
        throw determinismErrorOf(key, hash, error);
      });
      if (begun.answer !== "lost") return begun;
      if (begun.on_lost === "fail" || begun.question === undefined) throw new StepLostError(key);
      await waitForAnswer(this.connection, begun.question, until);
    }
  }
}

// The question with its answer. Throws UnansweredError when `until` (of performance.now()) comes first.
export async function waitForAnswer(connection: Connection, key: string, until: number): Promise<Question & { answer: string }> {
  for (;;) {
    const left = Math.max(0, Math.min(POLL_MS, Math.ceil(until - performance.now())));
    const path = `/v1/question?key=${encodeURIComponent(key)}&wait_ms=${left}`;
    const question = await connection.json<Question>({ method: "GET", path, long: true });
    if (question.answer !== undefined) return question as Question & { answer: string };
    if (performance.now() >= until) throw new UnansweredError(key, question.question);
  }
}
