// One episode, seen by its agent.
import { randomBytes } from "node:crypto";

import { plainJson } from "./canonical.js";
import { Children, runChild, type ChildRun } from "./children.js";
import { Connection, JSON_BODY } from "./connection.js";
import { NotFoundError, UnavailableError } from "./errors.js";
import { checkpointId } from "./inside.js";
import { Journal, waitForAnswer, type StepOptions } from "./journal.js";
import { fromWire } from "./types.js";
import type {
  Budget, Checkpoint, CheckpointPage, Child, ChildPage, Context, Json, ListOptions, Loaded, LogLevel, PageOptions, Question, SaveOptions,
  Step, StepPage, Usage,
} from "./types.js";

// By it Pawl tells a step that this process has begun from one that a lost process has begun.
const SESSION = randomBytes(16).toString("hex");

export interface ConnectOptions {
  socket?: string; // PAWL_SOCKET without it
  goal?: string; // PAWL_GOAL_ID without it: what the socket must be of; of `pawl agentd`, which goal is meant
  episode?: string; // PAWL_EPISODE_ID without it
}

// Connects with the first request. UnavailableError without a socket's name.
export function connect(options: ConnectOptions = {}): Pawl {
  const socket = options.socket ?? process.env["PAWL_SOCKET"];
  if (!socket) {
    throw UnavailableError.of("PAWL_SOCKET is not set. Run the agent under `pawl run`, or start `pawl agentd` and set PAWL_SOCKET " +
      "to its socket");
  }
  const headers: Record<string, string> = { "Pawl-Session": SESSION };
  const goal = options.goal ?? process.env["PAWL_GOAL_ID"];
  const episode = options.episode ?? process.env["PAWL_EPISODE_ID"];
  if (goal) headers["Pawl-Goal"] = goal;
  if (episode) headers["Pawl-Episode"] = episode;
  return new Pawl(new Connection(socket, headers));
}

export class Pawl {
  private readonly connection: Connection;
  private readonly journal: Journal;
  private readonly parents = new Map<string, Children>();

  // See connect().
  constructor(connection: Connection) {
    this.connection = connection;
    this.journal = new Journal(connection);
  }

  async context(): Promise<Context> {
    return fromWire(await this.connection.json<object>({ method: "GET", path: "/v1/context" }));
  }

  async heartbeat(note?: string): Promise<Budget> {
    return this.connection.postFor("/v1/heartbeat", note === undefined ? {} : { note });
  }

  async log(message: string, level: LogLevel = "info"): Promise<void> {
    await this.connection.post("/v1/log", { level, message });
  }

  // --- checkpoints

  // The same in every process: `main-0`; of a role `{role}-0`; inside of a child the child's id, and of a role there
  // `{child}/{role}-{depth}`.
  checkpointId(role?: string): string {
    return checkpointId(this.connection.episode, role);
  }

  // Bytes and strings are saved as they are, everything else as JSON; TypeError for what JSON can't tell. An id that is
  // undefined is checkpointId().
  async save(id: string | undefined, payload: Uint8Array | string | Json | object, options: SaveOptions = {}): Promise<Checkpoint> {
    id ??= this.checkpointId();
    const headers: Record<string, string> = { "Content-Type": "application/octet-stream" };
    if (options.metadata !== undefined) {
      headers["Pawl-Metadata"] = Buffer.from(plainJson(options.metadata, `the metadata of ${id}`)).toString("base64");
    }
    if (options.spent !== undefined) headers["Pawl-Spent"] = JSON.stringify(options.spent);
    const keep = options.keep === undefined ? "" : `&keep=${options.keep}`;
    // Nothing, saved as null, would be what the next process goes on from.
    if (payload === undefined) throw new TypeError(`the payload of ${id} is undefined: save what to go on from, or null`);
    const body = typeof payload === "string" || payload instanceof Uint8Array ? payload : plainJson(payload, `the payload of ${id}`);
    const path = `/v1/checkpoint?id=${encodeURIComponent(id)}${keep}`;
    return fromWire(await this.connection.json<object>({ method: "PUT", path, headers, body }));
  }

  // The newest whole one, or that seq; undefined when there is none: then the step's log and the ledger name the others,
  // if there are any.
  async load(id: string = this.checkpointId(), options: { seq?: number } = {}): Promise<Loaded | undefined> {
    const seq = options.seq === undefined ? "" : `&seq=${options.seq}`;
    try {
      const reply = await this.connection.ask({ method: "GET", path: `/v1/checkpoint?id=${encodeURIComponent(id)}${seq}` });
      const header = Buffer.from(reply.headers["pawl-checkpoint"] as string, "base64").toString();
      return {
        payload: reply.body,
        checkpoint: fromWire(JSON.parse(header) as object),
        json: <T>() => JSON.parse(reply.body.toString()) as T,
      };
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  // One page. The next one: `before` the last seq of this one.
  async list(options: ListOptions = {}): Promise<CheckpointPage> {
    const path = `/v1/checkpoints?${queryOf(options)}`;
    const page = await this.connection.json<{ checkpoints: (object & { payload?: string })[]; more: boolean }>({ method: "GET", path });
    const checkpoints = page.checkpoints.map((entry) => {
      const checkpoint = fromWire<Checkpoint>(entry);
      if (entry.payload !== undefined) checkpoint.payload = Buffer.from(entry.payload, "base64");
      return checkpoint;
    });
    return { checkpoints, more: page.more };
  }

  // Removes all of a prefix or of an id. How many.
  async prune(what: { prefix: string } | { id: string }): Promise<number> {
    const query = "id" in what ? `id=${encodeURIComponent(what.id)}` : `prefix=${encodeURIComponent(what.prefix)}`;
    return (await this.connection.json<{ pruned: number }>({ method: "DELETE", path: `/v1/checkpoints?${query}` })).pruned;
  }

  // --- the journal

  // Runs `run` once for this key in the whole episode, whatever process asks: a step that was completed is
  // answered from the journal. What `run` throws is recorded as failed and thrown on; it may then run again.
  // The result is what JSON makes of it. DeterminismError: the key was used with other arguments.
  step<T>(key: string, options: StepOptions, args: unknown, run: () => Promise<T> | T): Promise<T> {
    return this.journal.step(key, options, args, run);
  }

  async steps(options: PageOptions = {}): Promise<StepPage> {
    const page = await this.connection.json<{ steps: object[]; more: boolean }>({ method: "GET", path: `/v1/steps?${queryOf(options)}` });
    return { steps: page.steps.map((step) => fromWire<Step>(step)), more: page.more };
  }

  // --- children, usage, questions

  // The one object of this parent: two of them would give two children the same place.
  children(parent: string): Children {
    let children = this.parents.get(parent);
    if (children === undefined) this.parents.set(parent, (children = new Children(this.connection, parent)));
    return children;
  }

  // The child at a place that you name: inside of a step, where children() counts none. `parent` is one that is
  // counted nowhere else.
  child<T>(parent: string, spawnSeq: number, ordinal: number, spec: unknown, run: (child: ChildRun) => Promise<T> | T): Promise<T> {
    return runChild(this.connection, parent, spawnSeq, ordinal, { spec, run });
  }

  async listChildren(options: PageOptions = {}): Promise<ChildPage> {
    const path = `/v1/children?${queryOf(options)}`;
    const page = await this.connection.json<{ children: object[]; more: boolean }>({ method: "GET", path });
    return { children: page.children.map((child) => fromWire<Child>(child)), more: page.more };
  }

  // `id` is the agent's own name of the call: told twice it counts once.
  async usage(id: string, usage: Usage): Promise<Budget> {
    return this.connection.postFor("/v1/usage", {
      id, model: usage.model, input_tokens: usage.inputTokens, output_tokens: usage.outputTokens,
      ...(usage.cachedTokens !== undefined && { cached_tokens: usage.cachedTokens }), ...(usage.usd !== undefined && { usd: usage.usd }),
    });
  }

  // Asks a person and waits for the answer: for ever, or `wait` milliseconds (then UnansweredError). Asked
  // again with the same key it is the same question, answered at once when it was.
  async ask(key: string, question: string, options: { choices?: string[]; wait?: number } = {}): Promise<string> {
    const until = options.wait === undefined ? Infinity : performance.now() + options.wait;
    const body = JSON.stringify({ question, ...(options.choices && { choices: options.choices }) });
    const asked = await this.connection.json<Question>({
      method: "PUT", path: `/v1/question?key=${encodeURIComponent(key)}`, headers: JSON_BODY, body,
    });
    return asked.answer ?? (await waitForAnswer(this.connection, key, until)).answer;
  }
}

function queryOf(options: object): string {
  return Object.entries(options)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value as string | number | boolean)}`]))
    .join("&");
}
