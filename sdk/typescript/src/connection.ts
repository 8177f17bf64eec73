// Requests over the Unix socket, on connections that are reused.
import { openSync } from "node:fs";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { errorOf, TooManyError, UnavailableError } from "./errors.js";
import { Pool, type Reply } from "./wire.js";

const SOCKETS = 24; // for ordinary requests: those in flight together become durable together. Pawl allows 64 in all
const LONG_SOCKETS = 16; // for requests that wait for a person; separate, so that they delay no other request
const COMES_BACK_MS = 10_000; // how long a server that has responded before may be away: `pawl agentd` restarts
const RETRY_MS = 25;
const ADDRESS_BYTES = 107; // for a Unix socket's address (unix(7)); longer paths go through their folder's descriptor

export interface Ask {
  method: "GET" | "PUT" | "POST" | "DELETE";
  path: string;
  headers?: Record<string, string>;
  body?: Uint8Array | string;
  long?: boolean;
}

// One per address for the whole process, however often it connects.
const pools = new Map<string, Pool>();
const longPools = new Map<string, Pool>();

function poolOf(address: string, long: boolean): Pool {
  const all = long ? longPools : pools;
  let pool = all.get(address);
  if (pool === undefined) all.set(address, (pool = new Pool(address, long ? LONG_SOCKETS : SOCKETS)));
  return pool;
}

export class Connection {
  readonly socket: string;
  readonly episode: string; // identifies the episode among those that this process uses
  private readonly headers: string;
  private readonly address: string;
  private answered = false;

  constructor(socket: string, headers: Record<string, string>) {
    this.socket = socket;
    this.headers = linesOf({ Host: "pawl", ...headers });
    this.address = addressOf(socket);
    this.episode = [socket, headers["Pawl-Goal"], headers["Pawl-Episode"]].join("\n");
  }

  // Returns a response of status 2xx, or throws. Each request of the API may be repeated, so a request whose response
  // was lost with the connection is sent again. A checkpoint saved twice is stored twice; everything else counts
  // once.
  async ask(ask: Ask): Promise<Reply> {
    let away: number | undefined;
    for (;;) {
      try {
        const reply = await this.once(ask);
        this.answered = true;
        if (reply.status < 300) return reply;
        const error = errorOf(reply.status, reply.body);
        // All connections are taken, and the server has closed this one. Another try finds a free place later.
        if (error instanceof TooManyError && reply.headers["connection"] === "close") throw new UnavailableError(error, { cause: error });
        throw error;
      } catch (error) {
        if (!isAway(error)) throw error;
        away ??= performance.now();
        const never = !this.answered && NOBODY.has(codeOf(error));
        if (never || performance.now() - away > COMES_BACK_MS) {
          throw error instanceof UnavailableError ? error : this.unavailable(error);
        }
        await sleep(RETRY_MS);
      }
    }
  }

  async json<T>(ask: Ask): Promise<T> {
    const reply = await this.ask(ask);
    return JSON.parse(reply.body.toString()) as T;
  }

  post(path: string, body: object): Promise<Reply> {
    return this.ask({ method: "POST", path, body: JSON.stringify(body), headers: JSON_BODY });
  }

  async postFor<T>(path: string, body: object): Promise<T> {
    return JSON.parse((await this.post(path, body)).body.toString()) as T;
  }

  private once(ask: Ask): Promise<Reply> {
    let head = `${ask.method} ${ask.path} HTTP/1.1\r\n${this.headers}${linesOf(ask.headers)}`;
    if (ask.body !== undefined) head += `Content-Length: ${Buffer.byteLength(ask.body)}\r\n`;
    return poolOf(this.address, ask.long === true).ask(`${head}\r\n`, ask.body);
  }

  private unavailable(cause: unknown): UnavailableError {
    const where = this.answered ? `${this.socket} was left by who answered there` : `nobody listens on ${this.socket}`;
    return UnavailableError.of(`${where}. Run the agent under \`pawl run\`, or start \`pawl agentd\``, cause);
  }
}

const NO_HEADER = /[^\x20-\x7e]/; // a line break would begin another header

function linesOf(headers: Record<string, string> = {}): string {
  let lines = "";
  for (const name in headers) {
    const value = headers[name]!;
    if (NO_HEADER.test(value)) throw new TypeError(`${name} has a character that a header can't have`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

export const JSON_BODY = { "Content-Type": "application/json" };

const folders = new Map<string, number>(); // descriptors of the folders of long paths

function addressOf(socket: string): string {
  if (Buffer.byteLength(socket) <= ADDRESS_BYTES) return socket;
  const folder = dirname(socket);
  if (!folders.has(folder)) folders.set(folder, openSync(folder, "r"));
  return `/proc/self/fd/${folders.get(folder)!}/${basename(socket)}`;
}

const NOBODY = new Set(["ECONNREFUSED", "ENOENT"]);
const LEFT = new Set(["ECONNRESET", "EPIPE", "EAGAIN"]); // EAGAIN: the socket's queue of connects is full

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

function isAway(error: unknown): boolean {
  const code = codeOf(error);
  return error instanceof UnavailableError || NOBODY.has(code) || LEFT.has(code);
}
