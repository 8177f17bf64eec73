// Arguments as text that is the same for the same values: what the journal compares between processes.
import { createHash } from "node:crypto";

// Keys sorted, no spaces. What JSON would silently lose (NaN, a Map, a class without toJSON) is refused: two
// different arguments must not look the same. Members that are undefined are as if absent.
export function canonicalJson(value: unknown): string {
  const text = write(value, "arguments");
  if (text === undefined) return "null";
  return text;
}

export function argsHash(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

function refuse(where: string, what: string): never {
  throw new TypeError(`${where} is ${what}, which JSON can't tell. Pass plain data: objects, arrays, strings, numbers, booleans, null`);
}

function write(value: unknown, where: string): string | undefined {
  switch (typeof value) {
    case "undefined":
      return undefined;
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "number":
      return Number.isFinite(value) ? JSON.stringify(value) : refuse(where, String(value));
    case "object":
      return value === null ? "null" : writeObject(value, where);
    default:
      return refuse(where, `a ${typeof value}`);
  }
}

function writeObject(value: object, where: string): string | undefined {
  if ("toJSON" in value && typeof value.toJSON === "function") return write(value.toJSON(), where);
  if (Array.isArray(value)) return `[${value.map((item, i) => write(item, `${where}[${i}]`) ?? "null").join(",")}]`;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return refuse(where, `a ${value.constructor.name}`);
  const members = Object.keys(value).sort().flatMap((key) => {
    const text = write((value as Record<string, unknown>)[key], `${where}.${key}`);
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`];
  });
  return `{${members.join(",")}}`;
}
