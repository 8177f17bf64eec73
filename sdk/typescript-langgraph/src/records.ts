// The payloads of a checkpoint and of its tasks' writes, and how both are read again.
import {
  compareWritesSortKeys, WRITES_IDX_MAP, writesSortKey,
  type Checkpoint, type CheckpointMetadata, type CheckpointPendingWrite, type PendingWrite, type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";

import { pack, unpack, type Frame } from "./frame.js";
import { dump, load } from "./serializer.js";
import type { Writer } from "./writer.js";

interface BaseHeader {
  checkpoint: Omit<Checkpoint, "channel_values">;
  parent?: string;
  channels: string[]; // the channels of all parts but the last, which is the metadata
}

export interface BaseRecord {
  checkpoint: Omit<Checkpoint, "channel_values">;
  parent: string | undefined;
  channels: string[];
  value(channel: string): Promise<unknown>;
  values(): Promise<Record<string, unknown>>;
  metadata(): Promise<CheckpointMetadata>;
}

export async function packBase(
  writer: Writer, serde: SerializerProtocol, checkpoint: Checkpoint, metadata: CheckpointMetadata, parent: string | undefined, channels: string[],
): Promise<Uint8Array> {
  const { channel_values: values, ...rest } = checkpoint;
  const parts = [...channels.map((channel) => dump(serde, values[channel])), dump(serde, metadata)];
  const header: BaseHeader = { checkpoint: rest, ...(parent !== undefined && { parent }), channels };
  return pack(writer, header, await Promise.all(parts));
}

export function unpackBase(serde: SerializerProtocol, payload: Uint8Array): BaseRecord {
  const frame = unpack<BaseHeader>(payload);
  const { checkpoint, parent, channels } = frame.header;
  const at = (index: number): Promise<unknown> => load(serde, frame.part(index));
  return {
    checkpoint, parent, channels,
    value: (channel) => at(channels.indexOf(channel)),
    values: async () => Object.fromEntries(await Promise.all(channels.map(async (name, i) => [name, await at(i)] as const))),
    metadata: () => at(channels.length) as Promise<CheckpointMetadata>,
  };
}

interface WritesHeader {
  task: string;
  path: string;
  writes: [channel: string, index: number][];
}

export async function packWrites(
  writer: Writer, serde: SerializerProtocol, writes: PendingWrite[], task: string, path: string,
): Promise<Uint8Array> {
  const indexOf = (channel: string, i: number): number => (Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel]! : i);
  const header: WritesHeader = { task, path, writes: writes.map(([channel], i) => [channel, indexOf(channel, i)]) };
  return pack(writer, header, await Promise.all(writes.map(([, value]) => dump(serde, value))));
}

export interface Write {
  task: string;
  channel: string;
  value(): Promise<unknown>;
}

// The writes that count, in the order of live execution. `payloads` are all writes of a checkpoint's tasks, oldest
// first. The first write of an index stays, so a repeated task does not change what others may have seen. A special
// write (an error, an interrupt, an answer: a negative index) counts from the task's latest run.
export function mergeWrites(serde: SerializerProtocol, payloads: Uint8Array[]): Write[] {
  const counting = new Map<string, { key: ReturnType<typeof writesSortKey>; write: Write }>();
  for (const payload of payloads) {
    const frame: Frame<WritesHeader> = unpack<WritesHeader>(payload);
    const { task, path, writes } = frame.header;
    writes.forEach(([channel, index], i) => {
      const name = `${index} ${task}`;
      if (index >= 0 && counting.has(name)) return;
      const write = { task, channel, value: () => load(serde, frame.part(i)) };
      counting.set(name, { key: writesSortKey(path, task, index), write });
    });
  }
  return [...counting.values()].sort((a, b) => compareWritesSortKeys(a.key, b.key)).map(({ write }) => write);
}

export async function pendingWrites(writes: Write[]): Promise<CheckpointPendingWrite[]> {
  return Promise.all(writes.map(async (write): Promise<CheckpointPendingWrite> => [write.task, write.channel, await write.value()]));
}
