// Serialized values side by side in one payload: the parts without gaps, the header as JSON, its length (4 bytes,
// little endian), "PWL2". A value that did not change since the last checkpoint has the same bytes, which Pawl stores
// once. A value that is not requested is not read. The parts that are new in each checkpoint, the header and the last
// messages, are side by side at the end: mostly in one chunk.

import type { Texts } from "./texts.js";
import type { Writer } from "./writer.js";

const MAGIC = Buffer.from("PWL2");
const SUFFIX_BYTES = 8;

export type Typed = [type: string, bytes: Uint8Array];
export type Part = [type: string, value: Uint8Array | string | Texts];

export interface Frame<Header> {
  header: Header;
  part(index: number): Typed;
}

// The result is memory of `writer`, valid until its release().
export function pack(writer: Writer, header: object, parts: Part[]): Uint8Array {
  const sizes = parts.map(([type, value]) => [type, writer.add(value)]);
  writer.uint32(writer.add(JSON.stringify({ ...header, parts: sizes })));
  writer.add(MAGIC);
  return writer.written();
}

export function unpack<Header>(payload: Uint8Array): Frame<Header> {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  if (bytes.length < SUFFIX_BYTES || !bytes.subarray(-MAGIC.length).equals(MAGIC)) {
    throw new Error("a checkpoint below langgraph/ was not saved by @pawl/langgraph; remove it with `pawl checkpoint prune`");
  }
  const behind = bytes.length - SUFFIX_BYTES;
  const header = JSON.parse(bytes.toString("utf8", behind - bytes.readUInt32LE(behind), behind)) as Header & { parts: [string, number][] };
  const offsets: number[] = [];
  let end = 0;
  for (const [, length] of header.parts) {
    offsets.push(end);
    end += length;
  }
  return {
    header,
    part(index) {
      const [type, length] = header.parts[index]!;
      const begin = bytes.byteOffset + offsets[index]!;
      // A value of type bytes gets memory of its own.
      if (type === "bytes") return [type, new Uint8Array(bytes.buffer.slice(begin, begin + length))];
      return [type, new Uint8Array(bytes.buffer, begin, length)];
    },
  };
}
