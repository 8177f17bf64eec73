// Serialized values side by side in one payload: "PWL1", the header's length (4 bytes, little endian), the header
// as JSON, then the parts without gaps. A value that did not change since the checkpoint before is the same run
// of bytes, which Pawl stores once; and one that is not asked for is not read.

const MAGIC = Buffer.from("PWL1");
const PREFIX_BYTES = 8;

export type Typed = [type: string, bytes: Uint8Array];

export interface Frame<Header> {
  header: Header;
  part(index: number): Typed;
}

export function pack(header: object, parts: Typed[]): Buffer {
  const text = Buffer.from(JSON.stringify({ ...header, parts: parts.map(([type, bytes]) => [type, bytes.length]) }));
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  MAGIC.copy(prefix);
  prefix.writeUInt32LE(text.length, MAGIC.length);
  return Buffer.concat([prefix, text, ...parts.map(([, bytes]) => bytes)]);
}

export function unpack<Header>(payload: Uint8Array): Frame<Header> {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  if (bytes.length < PREFIX_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new Error("a checkpoint below langgraph/ was not saved by @pawl/langgraph; remove it with `pawl checkpoint prune`");
  }
  const start = PREFIX_BYTES + bytes.readUInt32LE(MAGIC.length);
  const header = JSON.parse(bytes.toString("utf8", PREFIX_BYTES, start)) as Header & { parts: [string, number][] };
  const offsets: number[] = [];
  let end = start;
  for (const [, length] of header.parts) {
    offsets.push(end);
    end += length;
  }
  return {
    header,
    part(index) {
      const [type, length] = header.parts[index]!;
      const begin = bytes.byteOffset + offsets[index]!;
      // Bytes are a value as they are: nobody else's memory.
      if (type === "bytes") return [type, new Uint8Array(bytes.buffer.slice(begin, begin + length))];
      return [type, new Uint8Array(bytes.buffer, begin, length)];
    },
  };
}
