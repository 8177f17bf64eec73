// PlainSerializer against the one of LangGraph that it stands for.
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { HumanMessage } from "@langchain/core/messages";
import { PlainSerializer } from "@pawl/langgraph";
import { expect, test } from "vitest";

const shared = { a: 1 };
const circle: { self?: unknown } = {};
circle.self = circle;
const deep = Array.from({ length: 200 }).reduce((inner: unknown) => [inner], "x");
const values: Record<string, unknown> = {
  text: "ä\u2028\ud800 \"\\\n", numbers: [1.5, -0, NaN, Infinity, 1e300], literals: [true, false, null], nothing: null,
  undefined: undefined, undefinedInside: { a: undefined, b: [undefined] }, holes: [1, , 3], // eslint-disable-line no-sparse-arrays
  function: { a: () => 1, b: [() => 1] }, symbol: { [Symbol("s")]: 1, a: Symbol("t") }, big: { a: 1n },
  set: new Set([1]), map: { a: new Map([["k", { v: 1 }]]) }, regexp: [/a/gi], error: { e: new Error("no") }, bytes: { b: new Uint8Array([1, 2]) },
  date: { at: new Date(0) }, itself: { toJSON: () => "other" }, arrayItself: Object.assign([1], { toJSON: () => "other" }),
  send: { lg_name: "Send", node: "n", args: { a: 1 }, more: 2 }, message: [new HumanMessage("hello")], boxed: [new Number(1), new String("s")],
  bare: Object.assign(Object.create(null) as object, { a: 1 }), inherited: Object.create({ a: 1 }), getter: { get a() { return 7; } },
  hidden: Object.defineProperty({ a: 1 }, "b", { value: 2 }), proto: JSON.parse('{"__proto__":{"a":1}}') as unknown,
  shared: [shared, shared], circle, deep, state: { messages: [{ role: "user", content: "x", tools: [] }], n: 1, nested: { a: [[{}]] } },
};

test.each(Object.keys(values))("writes what LangGraph's serializer writes: %s", async (name) => {
  const [type, bytes] = await new JsonPlusSerializer().dumpsTyped(values[name]);
  const [ourType, ourBytes] = await new PlainSerializer().dumpsTyped(values[name]);
  expect(ourType).toBe(type);
  expect(Buffer.from(ourBytes).toString()).toBe(Buffer.from(bytes).toString());
});

test("asks it only for what JSON has no word for", async () => {
  class Asked extends PlainSerializer {
    count = 0;
    protected override _dumps(value: unknown): Uint8Array {
      this.count += 1;
      return super._dumps(value);
    }
  }
  const serializer = new Asked();
  await serializer.dumpsTyped(values["state"]);
  expect(serializer.count).toBe(0);
  await serializer.dumpsTyped(values["map"]);
  expect(serializer.count).toBe(1);
});
