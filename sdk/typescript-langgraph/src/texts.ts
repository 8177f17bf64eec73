// A plain value with long texts: JSON with the long texts cut out, and the texts themselves. So a text is copied
// once, and is neither scanned nor escaped, which takes JSON.stringify and JSON.parse some ten times as long. The
// format has pieces of JSON and texts in turn, each after its length in bytes (4 bytes, little endian). The first and
// the last piece are JSON.
import { isAscii } from "node:buffer";

export const TEXTS = "pawl-texts"; // the type of such a value

const TEXT_LENGTH_MIN = 256; // a shorter text costs more by itself than within JSON
const LENGTH_MIN = 16 * 1024; // for all texts; a value with less is stored as JSON
const MARK = "\0"; // the only key of an object that replaces a text: JSON writes it as below
const markOf = (index: number): string => `{"\\u0000":${index}}`;

export interface Texts {
  json: string[]; // one more than texts
  texts: string[];
}

// undefined: plain JSON is as good. `value` is plain (serializer.ts).
export function textsOf(value: unknown): Texts | undefined {
  const taking = new Taking();
  const rest = taking.take(value);
  if (taking.length < LENGTH_MIN || taking.confused) return undefined;
  const json = JSON.stringify(rest);
  // LangGraph's serializer revives objects with this key, and only it can.
  return json.includes('"lc"') ? undefined : { json: json.split(markOf(0)), texts: taking.texts };
}

class Taking {
  readonly texts: string[] = [];
  length = 0; // the length of all texts
  confused = false; // the value has a key like MARK

  // The value with marks in place of its long texts; the value itself if it has none.
  take(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      let taken: unknown[] | undefined;
      for (let i = 0; i < value.length; i++) {
        const item = this.take(value[i]);
        if (item !== value[i]) (taken ??= value.slice())[i] = item;
      }
      return taken ?? value;
    }
    return this.object(value as Record<string, unknown>);
  }

  private text(value: string): unknown {
    // Half of a surrogate pair has no UTF-8.
    if (value.length < TEXT_LENGTH_MIN || !value.isWellFormed()) return value;
    this.texts.push(value);
    this.length += value.length;
    return { [MARK]: 0 };
  }

  private object(value: Record<string, unknown>): unknown {
    let taken: Record<string, unknown> | undefined;
    for (const key of Object.keys(value)) {
      this.confused ||= key === MARK || key === "__proto__"; // assignment would treat __proto__ differently
      const item = this.take(value[key]);
      if (item !== value[key]) (taken ??= { ...value })[key] = item;
    }
    return taken ?? value;
  }
}

export function valueOf(data: Uint8Array): unknown {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const encoding = isAscii(bytes) ? "latin1" : "utf8"; // the same result, but faster
  const texts: string[] = [];
  let json = "";
  for (let at = 0, isText = false; at < bytes.length; isText = !isText) {
    const begin = at + 4;
    at = begin + bytes.readUInt32LE(at);
    const piece = bytes.toString(encoding, begin, at);
    if (isText) json += markOf(texts.push(piece) - 1);
    else json += piece;
  }
  return putBack(JSON.parse(json), texts);
}

function putBack(value: unknown, texts: string[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = putBack(value[i], texts);
    return value;
  }
  const object = value as Record<string, unknown>;
  if (MARK in object) return texts[object[MARK] as number];
  for (const key of Object.keys(object)) object[key] = putBack(object[key], texts);
  return object;
}
