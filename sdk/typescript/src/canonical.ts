// Values as JSON: arguments in a canonical form, which the journal compares between processes, and results.
import { createHash } from "node:crypto";

// Sorted keys, no spaces. Throws for values that JSON would silently lose (NaN, a Map, a class without toJSON), since
// two different arguments must not look the same. Undefined members count as absent.
export function canonicalJson(value: unknown): string {
  return textOf(value, "arguments", (keys) => keys.sort());
}

// The stored form of a result or a state. Refuses the same values, but keeps the order of members. The error names
// `what`.
export function plainJson(value: unknown, what: string): string {
  return textOf(value, what, (keys) => keys);
}

export function argsHash(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

type Order = (keys: string[]) => string[];

function textOf(value: unknown, what: string, order: Order): string {
  try {
    return write(value, what, order) ?? "null";
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // stack overflow
    throw new TypeError(`${what} is nested too deeply, or in itself`, { cause: error });
  }
}

function refuse(where: string, what: string): never {
  throw new TypeError(`${where} is ${what}, which JSON can't tell. Pass plain data: objects, arrays, strings, numbers, booleans, null`);
}

function write(value: unknown, where: string, order: Order): string | undefined {
  switch (typeof value) {
    case "undefined":
      return undefined;
    case "string":
      return value.isWellFormed() ? JSON.stringify(value) : refuse(where, "half of a character (a lone surrogate)");
    case "boolean":
      return JSON.stringify(value);
    case "number":
      return Number.isFinite(value) ? JSON.stringify(value) : refuse(where, String(value));
    case "object":
      return value === null ? "null" : writeObject(value, where, order);
    default:
      return refuse(where, `a ${typeof value}`);
  }
}

function writeObject(value: object, where: string, order: Order): string | undefined {
  if ("toJSON" in value && typeof value.toJSON === "function") return write(value.toJSON(), where, order);
  if (Array.isArray(value)) return `[${value.map((item, i) => write(item, `${where}[${i}]`, order) ?? "null").join(",")}]`;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return refuse(where, `a ${value.constructor.name}`);
  const members = order(Object.keys(value)).flatMap((key) => {
    const text = write((value as Record<string, unknown>)[key], `${where}.${key}`, order);
    return text === undefined ? [] : [`${write(key, `${where}, in a name,`, order)}:${text}`];
  });
  return `{${members.join(",")}}`;
}
