// One episode, as its agent sees it.
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

// Pawl uses it to distinguish a step that this process has begun from a step of a lost process.
const SESSION = randomBytes(16).toString("hex");

export interface ConnectOptions {
  socket?: string; // default: PAWL_SOCKET
  goal?: string; // default: PAWL_GOAL_ID; must match the socket's goal. With `pawl agentd` it selects the goal
  episode?: string; // default: PAWL_EPISODE_ID
}

// The first request connects. UnavailableError: no socket is named.
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

  // The same in every process: `main-0`, or `{role}-0` with a role. Inside a child it is the child's id, or
  // `{child}/{role}-{depth}` with a role.
  checkpointId(role?: string): string {
    return checkpointId(this.connection.episode, role);
  }

  // Bytes and strings are saved unchanged, all else as JSON; TypeError for what JSON cannot represent. If `id` is
  // undefined, it is checkpointId().
  async save(id: string | undefined, payload: Uint8Array | string | Json | object, options: SaveOptions = {}): Promise<Checkpoint> {
    id ??= this.checkpointId();
    const headers: Record<string, string> = { "Content-Type": "application/octet-stream" };
    if (options.metadata !== undefined) {
      headers["Pawl-Metadata"] = Buffer.from(plainJson(options.metadata, `the metadata of ${id}`)).toString("base64");
    }
    if (options.spent !== undefined) headers["Pawl-Spent"] = JSON.stringify(options.spent);
    const keep = options.keep === undefined ? "" : `&keep=${options.keep}`;
    // undefined would be saved as null, and the next process would resume from that.
    if (payload === undefined) throw new TypeError(`the payload of ${id} is undefined: save what to go on from, or null`);
    const body = typeof payload === "string" || payload instanceof Uint8Array ? payload : plainJson(payload, `the payload of ${id}`);
    const path = `/v1/checkpoint?id=${encodeURIComponent(id)}${keep}`;
    return fromWire(await this.connection.json<object>({ method: "PUT", path, headers, body }));
  }

  // The newest valid checkpoint, or the one with `seq`. undefined: there is none. If there are checkpoints of other
  // ids, the step's log and the ledger name them.
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

  // One page. For the next page, `before` is the last seq of this one.
  async list(options: ListOptions = {}): Promise<CheckpointPage> {
    const path = `/v1/checkpoints?${queryOf(options)}`;
    type Page = { checkpoints: (object & { payload?: string })[]; more: boolean; known?: string[] };
    const page = await this.connection.json<Page>({ method: "GET", path });
    const checkpoints = page.checkpoints.map((entry) => {
      const checkpoint = fromWire<Checkpoint>(entry);
      if (entry.payload !== undefined) checkpoint.payload = Buffer.from(entry.payload, "base64");
      return checkpoint;
    });
    return { checkpoints, more: page.more, ...(page.known !== undefined && { known: page.known }) };
  }

  // Removes all checkpoints of a prefix or of an id. Returns how many.
  async prune(what: { prefix: string } | { id: string }): Promise<number> {
    const query = "id" in what ? `id=${encodeURIComponent(what.id)}` : `prefix=${encodeURIComponent(what.prefix)}`;
    return (await this.connection.json<{ pruned: number }>({ method: "DELETE", path: `/v1/checkpoints?${query}` })).pruned;
  }

  // --- the journal

  // Runs `run` once for this key in the whole episode, whichever process calls: a completed step is answered from the
  // journal. An exception of `run` is recorded as a failure and rethrown; then the step may run again. The result is
  // converted to JSON and back. DeterminismError: the key was used with other arguments.
  step<T>(key: string, options: StepOptions, args: unknown, run: () => Promise<T> | T): Promise<T> {
    return this.journal.step(key, options, args, run);
  }

  async steps(options: PageOptions = {}): Promise<StepPage> {
    const page = await this.connection.json<{ steps: object[]; more: boolean }>({ method: "GET", path: `/v1/steps?${queryOf(options)}` });
    return { steps: page.steps.map((step) => fromWire<Step>(step)), more: page.more };
  }

  // --- children, usage, questions

  // Returns the same object for the same parent: two objects would give two children the same place.
  children(parent: string): Children {
    let children = this.parents.get(parent);
    if (children === undefined) this.parents.set(parent, (children = new Children(this.connection, parent)));
    return children;
  }

  // The child at an explicit place, for use inside a step, where children() refuses to count. No other code may count
  // spawns of `parent`.
  child<T>(parent: string, spawnSeq: number, ordinal: number, spec: unknown, run: (child: ChildRun) => Promise<T> | T): Promise<T> {
    return runChild(this.connection, parent, spawnSeq, ordinal, { spec, run });
  }

  async listChildren(options: PageOptions = {}): Promise<ChildPage> {
    const path = `/v1/children?${queryOf(options)}`;
    const page = await this.connection.json<{ children: object[]; more: boolean }>({ method: "GET", path });
    return { children: page.children.map((child) => fromWire<Child>(child)), more: page.more };
  }

  // `id` is the agent's own name of the call: a repeated report counts once.
  async usage(id: string, usage: Usage): Promise<Budget> {
    return this.connection.postFor("/v1/usage", {
      id, model: usage.model, input_tokens: usage.inputTokens, output_tokens: usage.outputTokens,
      ...(usage.cachedTokens !== undefined && { cached_tokens: usage.cachedTokens }), ...(usage.usd !== undefined && { usd: usage.usd }),
    });
  }

  // Asks a person and waits for the answer: for ever, or `wait` milliseconds (then UnansweredError). A repeated key
  // asks the same question, which is answered at once if it has an answer.
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
