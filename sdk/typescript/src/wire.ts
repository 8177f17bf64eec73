// The part of HTTP/1.1 that docs/agent-api.yaml needs, over Unix sockets: a response has a Content-Length or no body.
// node:http takes longer for a small request than Pawl does, including its commit to the disk.
import net from "node:net";

const HEAD_BYTES_MAX = 256 * 1024; // a checkpoint's metadata come as a header: 64 KiB before base64
const SMALL_BYTES = 64 * 1024; // a body up to this size is written together with its head

export interface Reply {
  status: number;
  headers: Record<string, string>; // names in lower case
  body: Buffer;
}

interface Job {
  head: string;
  body: Uint8Array | string | undefined;
  resolve: (reply: Reply) => void;
  reject: (error: Error) => void;
}

const NOTHING = Buffer.alloc(0);
const ARRIVED = Buffer.allocUnsafeSlow(64 * 1024); // shared: bytes are consumed before the next connection reads

// One connection, which handles one request at a time.
class Wire {
  private readonly socket: net.Socket;
  private readonly pool: Pool;
  private job: Job | undefined;
  private head: Buffer = NOTHING; // the head of a response, until it is complete
  private reply: Reply | undefined;
  private got = 0; // bytes of its body

  constructor(address: string, pool: Pool) {
    this.pool = pool;
    // Bypasses the stream of net.Socket, which allocates memory, objects and events for each chunk.
    const callback = (count: number): boolean => {
      this.take(ARRIVED.subarray(0, count));
      return true;
    };
    this.socket = net.connect({ path: address, onread: { buffer: ARRIVED, callback } });
    this.socket.on("error", (error) => this.fail(error));
    this.socket.on("close", () => this.fail(hungUp()));
  }

  run(job: Job): void {
    this.job = job;
    this.socket.ref();
    if (job.body === undefined) this.socket.write(job.head, "latin1");
    else if (typeof job.body === "string" && job.body.length <= SMALL_BYTES) this.socket.write(job.head + job.body);
    else if (typeof job.body !== "string" && job.body.length <= SMALL_BYTES) {
      const all = Buffer.allocUnsafe(job.head.length + job.body.length);
      all.write(job.head, "latin1");
      all.set(job.body, job.head.length);
      this.socket.write(all);
    } else {
      this.socket.cork();
      this.socket.write(job.head, "latin1");
      this.socket.write(job.body);
      this.socket.uncork();
    }
  }

  private take(chunk: Buffer): void {
    if (this.job === undefined) return this.drop(); // no request is open
    if (this.reply === undefined) {
      const all = this.head.length === 0 ? chunk : Buffer.concat([this.head, chunk]);
      const end = all.indexOf("\r\n\r\n");
      if (end < 0 ? all.length > HEAD_BYTES_MAX : end > HEAD_BYTES_MAX) return this.fail(new Error("an answer's headers are too long"));
      if (end < 0) {
        this.head = all === chunk ? Buffer.from(chunk) : all;
        return;
      }
      this.head = NOTHING;
      this.reply = replyOf(all.toString("latin1", 0, end));
      const rest = all.subarray(end + 4);
      const size = Number(this.reply.headers["content-length"] ?? 0);
      this.reply.body = size < SMALL_BYTES ? Buffer.allocUnsafe(size) : Buffer.allocUnsafeSlow(size);
      this.got = rest.copy(this.reply.body);
    } else {
      this.got += chunk.copy(this.reply.body, this.got);
    }
    if (this.got === this.reply.body.length) this.end(this.reply, this.job);
  }

  private end(reply: Reply, job: Job): void {
    this.job = this.reply = undefined;
    if (reply.headers["connection"] === "close") this.drop();
    else {
      this.socket.unref();
      this.pool.give(this);
    }
    job.resolve(reply);
  }

  private fail(error: Error): void {
    const job = this.job;
    this.job = undefined;
    this.drop();
    job?.reject(error);
  }

  private drop(): void {
    this.socket.destroy();
    this.pool.gone(this);
  }
}

function hungUp(): Error {
  return Object.assign(new Error("the connection was closed before the answer"), { code: "ECONNRESET" });
}

function replyOf(head: string): Reply {
  const headers: Record<string, string> = {};
  const lines = head.split("\r\n");
  for (let i = 1; i < lines.length; i++) {
    const line = lines[i]!;
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(lines[0]!.slice(9, 12)), headers, body: NOTHING };
}

// Connections to one address: as many as are in use at once, at most `most`. Idle ones do not keep the process alive.
export class Pool {
  private readonly address: string;
  private readonly most: number;
  private readonly wires = new Set<Wire>();
  private readonly idle: Wire[] = []; // the last used one is used next
  private readonly waiting: Job[] = [];

  constructor(address: string, most: number) {
    this.address = address;
    this.most = most;
  }

  // `head`: the request line and the headers, with the empty line after them.
  ask(head: string, body: Uint8Array | string | undefined): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ head, body, resolve, reject });
      this.next();
    });
  }

  give(wire: Wire): void {
    this.idle.push(wire);
    this.next();
  }

  gone(wire: Wire): void {
    if (!this.wires.delete(wire)) return;
    const at = this.idle.indexOf(wire);
    if (at >= 0) this.idle.splice(at, 1);
    this.next();
  }

  private next(): void {
    while (this.waiting.length > 0) {
      const wire = this.idle.pop() ?? this.connect();
      if (wire === undefined) return;
      wire.run(this.waiting.shift()!);
    }
  }

  private connect(): Wire | undefined {
    if (this.wires.size >= this.most) return undefined;
    const wire = new Wire(this.address, this);
    this.wires.add(wire);
    return wire;
  }
}
