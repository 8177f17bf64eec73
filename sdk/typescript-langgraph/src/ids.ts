// checkpoint_ids in Pawl: `langgraph/<thread>/<ns>/<checkpoint>`, and `langgraph/<thread>/<ns>/<checkpoint>/w/<task>`
// for the writes of its tasks. Parts are percent-encoded, so a slash always separates parts.
import { createHash } from "node:crypto";

const ROOT = "langgraph/";
const PART_MAX = 120; // an id has 512 bytes: four parts and the text between them

export interface Place {
  thread: string;
  ns: string;
  checkpoint: string;
}

function escape(part: string): string {
  return encodeURIComponent(part).replaceAll("~", "%7E");
}

// A part that is too long is replaced by its hash; no other part begins with `~`.
function encode(part: string): string {
  const encoded = escape(part);
  return encoded.length <= PART_MAX ? encoded : `~${createHash("sha256").update(part).digest("hex")}`;
}

export function isHashed(part: string): boolean {
  return encode(part).startsWith("~");
}

export function prefixOf(thread?: string, ns?: string): string {
  if (thread === undefined) return ROOT;
  return ns === undefined ? `${ROOT}${encode(thread)}/` : `${ROOT}${encode(thread)}/${encode(ns)}/`;
}

export function baseId(place: Place): string {
  return prefixOf(place.thread, place.ns) + escape(place.checkpoint); // ids are ordered by it, so it is never a hash
}

export function writesPrefix(place: Place): string {
  return `${baseId(place)}/w/`;
}

export function writesId(place: Place, task: string): string {
  return writesPrefix(place) + encode(task);
}

// The parts of an id; a hashed part stays hashed. `task` is set for writes.
export interface Parsed extends Place {
  isWrite: boolean;
}

export function parseId(id: string): Parsed | undefined {
  const parts = id.split("/");
  if (parts.length !== 4 && parts.length !== 6) return undefined;
  const [, thread, ns, checkpoint] = parts.map((part) => (part.startsWith("~") ? part : decodeURIComponent(part)));
  return { thread: thread!, ns: ns!, checkpoint: checkpoint!, isWrite: parts.length === 6 };
}
