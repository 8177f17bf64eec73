import { JsonPlusSerializer, type SerializerProtocol } from "@langchain/langgraph-checkpoint";

import type { Part, Typed } from "./frame.js";
import { TEXTS, textsOf, valueOf } from "./texts.js";

// Writes and reads the format of LangGraph's own serializer. Most values are plain JSON, and JSON.stringify alone
// writes them. The serializer's replacer is called for each value, and takes some ten times as long. A value without
// revived objects is read by JSON.parse alone. The reviver makes a promise for each value, and takes some thirty
// times as long.
export class PlainSerializer extends JsonPlusSerializer {
  override async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    return isPlain(value) ? ["json", Buffer.from(JSON.stringify(value))] : super.dumpsTyped(value);
  }

  override async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    if (type !== "json") return super.loadsTyped(type, data);
    const text = typeof data === "string" ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
    return text.includes('"lc"') ? super.loadsTyped(type, text) : JSON.parse(text);
  }
}

// The output of `serde` for `value`, in a form that saves copies. Later changes of `value` do not affect it.
export async function dump(serde: SerializerProtocol, value: unknown): Promise<Part> {
  if (serde.constructor !== PlainSerializer || !isPlain(value)) return serde.dumpsTyped(value);
  const texts = textsOf(value);
  return texts === undefined ? ["json", JSON.stringify(value)] : [TEXTS, texts];
}

export async function load(serde: SerializerProtocol, [type, bytes]: Typed): Promise<unknown> {
  return type === TEXTS ? valueOf(bytes) : serde.loadsTyped(type, bytes);
}

const DEPTH_MAX = 64; // a deeper value may be circular

// Whether JSON can represent the whole value: no undefined, no object of a class, no object with toJSON.
function isPlain(value: unknown, depth = 0): boolean {
  if (typeof value !== "object") return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  if (value === null) return true;
  if (depth === DEPTH_MAX || "toJSON" in value || "lg_name" in value) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isPlain(value[i], depth + 1)) return false; // a hole is undefined
    return true;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key of Object.keys(value)) if (!isPlain((value as Record<string, unknown>)[key], depth + 1)) return false;
  return true;
}
