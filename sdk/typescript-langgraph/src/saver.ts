// LangGraph's checkpoints in Pawl. A checkpoint is one payload with all its channels, so one request reads it.
// Unchanged parts have the same bytes as before, which Pawl stores once.
import { isDeepStrictEqual } from "node:util";

import {
  BaseCheckpointSaver, getCheckpointId, maxChannelVersion, TASKS,
  type ChannelVersions, type Checkpoint, type CheckpointListOptions, type CheckpointMetadata, type CheckpointPendingWrite,
  type CheckpointTuple, type DeltaChannelHistory, type PendingWrite, type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { connect, type ConnectOptions, type Json, type Pawl } from "@pawl/sdk";

import type { Place } from "./ids.js";
import { mergeWrites, packBase, packWrites, pendingWrites, unpackBase, type BaseRecord } from "./records.js";
import { PlainSerializer } from "./serializer.js";
import { Threads, type Listed, type Records } from "./threads.js";
import { Writer } from "./writer.js";

type Config = Parameters<BaseCheckpointSaver["getTuple"]>[0];

const AT_ONCE = 8; // tuples of list() that are read at the same time
const META_BYTES_MAX = 16 * 1024; // for metadata that a filter can check without the payload

export interface PawlSaverOptions extends ConnectOptions {
  pawl?: Pawl; // replaces a connection of its own
  serde?: SerializerProtocol;
}

export class PawlSaver extends BaseCheckpointSaver {
  readonly pawl: Pawl; // for steps inside nodes: `saver.pawl.step(...)`
  private readonly threads: Threads;

  constructor(options: PawlSaverOptions = {}) {
    super(options.serde ?? new PlainSerializer());
    this.pawl = options.pawl ?? connect(options);
    this.threads = new Threads(this.pawl);
  }

  // Connects by PAWL_SOCKET, PAWL_GOAL_ID and PAWL_EPISODE_ID.
  static fromEnv(): PawlSaver {
    return new PawlSaver();
  }

  // The configuration of the thread that each process finds again: `graph.invoke(input, saver.config())`. Its name is
  // checkpointId() of the agent. A random name would be another thread in the next process.
  config(role?: string): { configurable: { thread_id: string } } {
    return { configurable: { thread_id: this.pawl.checkpointId(role) } };
  }

  override async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
    const records = await this.recordsOf(config);
    return records && this.tupleOf(records);
  }

  override async *list(config: Config, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } = config.configurable ?? {};
    const before = options.before?.configurable?.["checkpoint_id"] as string | undefined;
    let left = options.limit ?? Infinity;
    const listed = (await this.threads.list(thread, ns)).filter(({ place, entry }) =>
      (ns === undefined || place.ns === ns) && (!id || place.checkpoint === id) && (!before || place.checkpoint < before) &&
      mayMatch(entry.metadata["meta"], options.filter));
    while (listed.length > 0 && left > 0) {
      const group = listed.splice(0, Math.min(AT_ONCE, left));
      for (const tuple of await Promise.all(group.map((one) => this.tupleOfListed(one)))) {
        if (tuple === undefined || !matches(tuple.metadata as object, options.filter)) continue;
        left -= 1;
        yield tuple;
      }
    }
  }

  override async put(
    config: Config, checkpoint: Checkpoint, metadata: CheckpointMetadata, newVersions: ChannelVersions,
  ): Promise<Config> {
    const { thread, ns, checkpoint: parent } = placeOf(config, "put a checkpoint");
    // Without a parent no value is carried over: only new versions have a value.
    const channels = Object.keys(checkpoint.channel_values).filter((name) => parent !== "" || Object.hasOwn(newVersions, name));
    const writer = new Writer();
    const payload = await packBase(writer, this.serde, checkpoint, metadata, parent || undefined, channels);
    await this.threads.put({ thread, ns, checkpoint: checkpoint.id }, payload, filterable(metadata));
    writer.release();
    return configOf({ thread, ns, checkpoint: checkpoint.id });
  }

  override async putWrites(config: Config, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const place = placeOf(config, "put writes");
    if (place.checkpoint === "") throw new TypeError("can't put writes: the config has no configurable.checkpoint_id");
    const writer = new Writer();
    await this.threads.putWrites(place, taskId, await packWrites(writer, this.serde, writes, taskId, taskPath));
    writer.release();
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.threads.remove(threadId);
  }

  // Like the inherited method, but reads only the requested channels.
  override async getDeltaChannelHistory(options: { config: Config; channels: string[] }): Promise<Record<string, DeltaChannelHistory>> {
    const blocks = new Map(options.channels.map((channel): [string, CheckpointPendingWrite[][]] => [channel, []]));
    const seeds = new Map<string, unknown>();
    const start = options.channels.length > 0 ? await this.recordsOf(options.config) : undefined;
    let parent = start && this.baseOf(start).parent;
    while (start !== undefined && parent !== undefined && seeds.size < blocks.size) {
      const records = await this.threads.at({ ...start.place, checkpoint: parent });
      if (records === undefined) break;
      const base = this.baseOf(records);
      const writes = mergeWrites(this.serde, records.writes);
      for (const [channel, found] of blocks) {
        if (seeds.has(channel)) continue;
        found.unshift(await pendingWrites(writes.filter((write) => write.channel === channel)));
        const seed = base.channels.includes(channel) ? await base.value(channel) : undefined;
        if (seed !== undefined) seeds.set(channel, seed);
      }
      parent = base.parent;
    }
    return Object.fromEntries([...blocks].map(([channel, found]) =>
      [channel, { writes: found.flat(), ...(seeds.has(channel) && { seed: seeds.get(channel) }) }]));
  }

  // --- within

  private async recordsOf(config: Config): Promise<Records | undefined> {
    if (config.configurable?.["thread_id"] === undefined) return undefined;
    const place = placeOf(config, "get a checkpoint");
    return place.checkpoint === "" ? this.threads.newest(place.thread, place.ns) : this.threads.at(place);
  }

  private async tupleOfListed({ place }: Listed): Promise<CheckpointTuple | undefined> {
    const records = await this.threads.at(place); // undefined: it was deleted meanwhile
    return records && this.tupleOf(records);
  }

  private baseOf(records: Records): BaseRecord {
    return unpackBase(this.serde, records.base);
  }

  private async tupleOf({ place, base: payload, writes }: Records): Promise<CheckpointTuple> {
    const base = unpackBase(this.serde, payload);
    const [values, metadata, pending] = await Promise.all([
      base.values(), base.metadata(), pendingWrites(mergeWrites(this.serde, writes)),
    ]);
    const checkpoint: Checkpoint = { ...base.checkpoint, channel_values: values };
    if (base.parent === undefined) return { config: configOf(place), checkpoint, metadata, pendingWrites: pending };
    const parent = { ...place, checkpoint: base.parent };
    if (checkpoint.v < 4) await this.addPendingSends(checkpoint, parent);
    return { config: configOf(place), checkpoint, metadata, pendingWrites: pending, parentConfig: configOf(parent) };
  }

  // Before version 4, sends to the next step were stored with the parent's writes.
  private async addPendingSends(checkpoint: Checkpoint, parent: Place): Promise<void> {
    const sends = mergeWrites(this.serde, await this.threads.writesOf(parent)).filter((write) => write.channel === TASKS);
    checkpoint.channel_values[TASKS] = await Promise.all(sends.map((write) => write.value()));
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }
}

// `checkpoint` is "" if the config does not name one.
function placeOf(config: Config, what: string): Place {
  const thread: unknown = config.configurable?.["thread_id"];
  if (typeof thread !== "string" || thread === "") {
    throw new TypeError(`can't ${what}: pass {configurable: {thread_id: "..."}}, a string that names the conversation`);
  }
  return { thread, ns: (config.configurable?.["checkpoint_ns"] as string | undefined) ?? "", checkpoint: getCheckpointId(config) };
}

function configOf(place: Place): Config {
  return { configurable: { thread_id: place.thread, checkpoint_ns: place.ns, checkpoint_id: place.checkpoint } };
}

// As text: the numbers in a checkpoint's metadata header are integers.
function filterable(metadata: CheckpointMetadata): { [key: string]: Json } {
  try {
    const meta = JSON.stringify(metadata);
    return meta.length <= META_BYTES_MAX ? { meta } : {};
  } catch {
    return {}; // only the serializer can write it: filters read the payload
  }
}

function mayMatch(meta: Json | undefined, filter: Record<string, unknown> | undefined): boolean {
  return typeof meta !== "string" || filter === undefined || matches(JSON.parse(meta) as object, filter);
}

function matches(metadata: object, filter: Record<string, unknown> = {}): boolean {
  return Object.entries(filter).every(([key, value]) => isDeepStrictEqual(plain((metadata as Record<string, unknown>)[key]), plain(value)));
}

function plain(value: unknown): unknown {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? undefined : JSON.parse(text);
}
