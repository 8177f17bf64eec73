// checkpoint_ids in Pawl: `langgraph/<thread>/<ns>/<checkpoint>` and, for what a task of it wrote,
// `langgraph/<thread>/<ns>/<checkpoint>/w/<task>`. Parts are percent-encoded, so a slash is always a border.
import { createHash } from "node:crypto";

const ROOT = "langgraph/";
const PART_MAX = 120; // of 512 that an id may have: four parts and what is between them

export interface Place {
  thread: string;
  ns: string;
  checkpoint: string;
}

function escape(part: string): string {
  return encodeURIComponent(part).replaceAll("~", "%7E");
}

// A part that is too long goes by its hash; nothing else begins with `~`.
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
  return prefixOf(place.thread, place.ns) + escape(place.checkpoint); // ordered by what it is: never a hash
}

export function writesPrefix(place: Place): string {
  return `${baseId(place)}/w/`;
}

export function writesId(place: Place, task: string): string {
  return writesPrefix(place) + encode(task);
}

// The place as the id tells it: a hashed part is still one. `task` is there for writes.
export interface Parsed extends Place {
  isWrite: boolean;
}

export function parseId(id: string): Parsed | undefined {
  const parts = id.split("/");
  if (parts.length !== 4 && parts.length !== 6) return undefined;
  const [, thread, ns, checkpoint] = parts.map((part) => (part.startsWith("~") ? part : decodeURIComponent(part)));
  return { thread: thread!, ns: ns!, checkpoint: checkpoint!, isWrite: parts.length === 6 };
}
