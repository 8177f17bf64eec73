// The records of threads: bases (checkpoints) and writes. Each save adds a record, and all are retained. A read
// usually takes one request: the newest saves are listed with their payloads, and the writes of a checkpoint follow
// it.
import type { Checkpoint as Saved, CheckpointPage, Json, Pawl } from "@pawl/sdk";

import { baseId, isHashed, parseId, prefixOf, writesId, writesPrefix, type Place } from "./ids.js";

const LARGE_BYTES = 64 * 1024; // from this size on, a separate request is cheaper than base64 in a list
const GUESS = 4; // a checkpoint and the writes of a few tasks
const PAGE = 100;
const PAGE_MAX = 1000;
const KNOWN_MAX = 10_000; // threads whose state is remembered; a forgotten one costs a request

// The state of one thread and namespace, as far as this process has seen it.
interface Known {
  newest: string; // the highest checkpoint id; "": none
  writes: number; // records saved after it
  bytes: number; // the size of the last checkpoint
  puts: Promise<unknown>; // the last put of this process: a later save must be newer
}

export interface Records {
  place: Place;
  base: Uint8Array;
  writes: Uint8Array[]; // oldest first
}

export interface Listed {
  place: Place;
  entry: Saved;
}

export class Threads {
  private readonly pawl: Pawl;
  private readonly known = new Map<string, Known>();

  constructor(pawl: Pawl) {
    this.pawl = pawl;
  }

  // --- writing

  async put(place: Place, payload: Uint8Array, metadata: { [key: string]: Json }): Promise<void> {
    const known = await this.knownOf(place);
    const { thread, ns } = place;
    // The newest save usually has the highest id. Not so if a thread is copied, or a checkpoint is put again: then
    // readers must look at all saves.
    const late = place.checkpoint <= known.newest;
    if (!late) Object.assign(known, { newest: place.checkpoint, writes: 0, bytes: payload.length });
    const save = known.puts.then(() => this.pawl.save(baseId(place), payload, {
      keep: 0,
      metadata: { ...metadata, ...(late && { late }), ...(isHashed(thread) && { thread }), ...(isHashed(ns) && { ns }) },
    }));
    known.puts = save.catch(() => undefined);
    await save;
  }

  async putWrites(place: Place, task: string, payload: Uint8Array): Promise<void> {
    const known = await this.knownOf(place);
    if (place.checkpoint > known.newest) known.newest = place.checkpoint; // its checkpoint comes later: late
    known.writes += 1;
    await known.puts; // writes follow their checkpoint, so that a reader who lists down to it has seen them
    await this.pawl.save(writesId(place, task), payload, { keep: 0 });
  }

  async remove(thread: string): Promise<void> {
    const prefix = prefixOf(thread);
    for (const key of this.known.keys()) if (key.startsWith(prefix)) this.known.delete(key);
    await this.pawl.prune({ prefix });
  }

  // --- reading

  async newest(thread: string, ns: string): Promise<Records | undefined> {
    const prefix = prefixOf(thread, ns);
    const known = this.known.get(prefix);
    const payload = (known?.bytes ?? 0) < LARGE_BYTES;
    const page = await this.pawl.list({ prefix, payload, limit: known === undefined ? GUESS : Math.min(known.writes + 1, PAGE) });
    const { base, behind } = await this.highest(prefix, page);
    if (base === undefined) {
      if (behind.length === 0) this.learn(prefix, { newest: "", writes: 0, bytes: 0 });
      // Pawl reports a thread whose name has changed. For a subgraph a missing thread is normal.
      if (behind.length === 0 && ns === "") await this.pawl.load(prefix);
      return undefined;
    }
    const { checkpoint, entry } = base;
    const place = { thread, ns, checkpoint };
    this.learn(prefix, { newest: checkpoint, writes: behind.length, bytes: entry.size });
    const own = behind.filter((write) => parseId(write.id)!.checkpoint === checkpoint);
    if (base.whole && [entry, ...own].every((record) => record.payload !== undefined)) {
      return { place, base: entry.payload!, writes: own.map((write) => write.payload!).reverse() };
    }
    if (!base.whole || own.length > 0) return this.at(place);
    const loaded = await this.pawl.load(entry.id, { seq: entry.seq });
    return loaded && { place, base: loaded.payload, writes: [] };
  }

  async at(place: Place): Promise<Records | undefined> {
    const bytes = this.known.get(prefixOf(place.thread, place.ns))?.bytes ?? 0;
    if (bytes >= LARGE_BYTES) {
      const [loaded, writes] = await Promise.all([this.pawl.load(baseId(place)), this.writesOf(place)]);
      return loaded && { place, base: loaded.payload, writes };
    }
    const entries = await this.all({ prefix: baseId(place), payload: true });
    const base = entries.find((entry) => entry.id === baseId(place));
    if (base === undefined) return undefined;
    const writes = entries.filter((entry) => entry.id.startsWith(writesPrefix(place)));
    return { place, base: base.payload!, writes: writes.map((entry) => entry.payload!).reverse() };
  }

  async writesOf(place: Place): Promise<Uint8Array[]> {
    const entries = await this.all({ prefix: writesPrefix(place), payload: true });
    return entries.map((entry) => entry.payload!).reverse();
  }

  // The newest base of each place, without payloads, highest checkpoint id first.
  list(thread?: string, ns?: string): Promise<Listed[]> {
    return this.listBelow(prefixOf(thread, ns));
  }

  // --- within

  private async listBelow(prefix: string): Promise<Listed[]> {
    const found = new Map<string, Listed>();
    for (const entry of await this.all({ prefix })) {
      const parsed = parseId(entry.id);
      if (parsed === undefined || parsed.isWrite || found.has(entry.id)) continue;
      const { thread = parsed.thread, ns = parsed.ns } = entry.metadata as { thread?: string; ns?: string };
      found.set(entry.id, { place: { thread, ns, checkpoint: parsed.checkpoint }, entry });
    }
    const order = (a: string, b: string): number => (a < b ? 1 : a > b ? -1 : 0);
    return [...found.values()].sort((a, b) => order(a.place.checkpoint, b.place.checkpoint));
  }

  private async all(query: { prefix: string; payload?: boolean }): Promise<Saved[]> {
    const entries: Saved[] = [];
    for (let before: number | undefined; ;) {
      const page = await this.pawl.list({ ...query, limit: PAGE_MAX, ...(before !== undefined && { before }) });
      entries.push(...page.checkpoints);
      before = page.checkpoints.at(-1)?.seq;
      if (!page.more || before === undefined) return entries;
    }
  }

  // The base with the highest id, and the writes that were saved after it.
  private async highest(prefix: string, first: CheckpointPage): Promise<Highest> {
    const behind: Saved[] = [];
    for (let page = first; ;) {
      for (const entry of page.checkpoints) {
        const parsed = parseId(entry.id);
        if (parsed?.isWrite) behind.push(entry);
        if (parsed === undefined || parsed.isWrite) continue;
        const inOrder = entry.metadata["late"] !== true && behind.every((write) => parseId(write.id)!.checkpoint <= parsed.checkpoint);
        if (inOrder) return { behind, base: { checkpoint: parsed.checkpoint, entry, whole: true } };
        const [listed] = await this.listBelow(prefix);
        return { behind, base: { checkpoint: listed!.place.checkpoint, entry: listed!.entry, whole: false } };
      }
      if (!page.more) return { behind };
      page = await this.pawl.list({ prefix, before: page.checkpoints.at(-1)!.seq, limit: PAGE });
    }
  }

  private async knownOf(place: Place): Promise<Known> {
    const prefix = prefixOf(place.thread, place.ns);
    if (!this.known.has(prefix)) {
      const { base, behind } = await this.highest(prefix, await this.pawl.list({ prefix, limit: GUESS }));
      const ids = [base?.checkpoint ?? "", ...behind.map((write) => parseId(write.id)!.checkpoint)];
      this.learn(prefix, { newest: ids.reduce((a, b) => (a > b ? a : b)), writes: behind.length, bytes: base?.entry.size ?? 0 });
    }
    return this.known.get(prefix)!;
  }

  private learn(prefix: string, seen: Omit<Known, "puts">): void {
    const known = this.known.get(prefix);
    if (known === undefined) {
      if (this.known.size >= KNOWN_MAX) this.known.clear();
      this.known.set(prefix, { ...seen, puts: Promise.resolve() });
    } else if (seen.newest >= known.newest) { // otherwise this process has put a newer one meanwhile
      Object.assign(known, seen);
    }
  }
}

interface Highest {
  behind: Saved[];
  base?: { checkpoint: string; entry: Saved; whole: boolean }; // whole: `behind` has all of its writes
}
