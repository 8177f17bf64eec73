// Values with long texts, which PawlSaver stores as they are.
import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { PawlSaver, PlainSerializer } from "@pawl/langgraph";
import { expect, test } from "vitest";

import { freshEpisode } from "./support.js";

const META = { source: "loop" as const, step: 0, parents: {} };
const THREAD = { configurable: { thread_id: "t", checkpoint_ns: "" } };

async function put(saver: PawlSaver, value: unknown, thread = THREAD) {
  const versions = { value: 1 };
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(3), channel_values: { value }, channel_versions: versions };
  return saver.put(thread, checkpoint, META, versions);
}

async function get(saver: PawlSaver, thread = THREAD): Promise<unknown> {
  return (await saver.getTuple(thread))!.checkpoint.channel_values["value"];
}

async function stored(saver: PawlSaver): Promise<Buffer> {
  const { checkpoints } = await saver.pawl.list({ prefix: "langgraph/t/", limit: 1 });
  return Buffer.from((await saver.pawl.load(checkpoints[0]!.id))!.payload);
}

const long = (text: string, times = 5000): string => `say "${text}"\n`.repeat(times);
const message = (i: number): object => ({ role: "user", content: long(`text ${i}`, 300), tokens: i, tools: [] });
const lone = `${long("half")}\ud800`;

const values: Record<string, unknown> = {
  "one text": long("ascii"),
  "another than ASCII": [long("Größe €"), "ä", long("😀"), long("é", 20)],
  "messages": { messages: Array.from({ length: 30 }, (_, i) => message(i)), "10": 1, "2": long("number") },
  "half a pair beside a text": [lone, long("whole"), "\ud800"],
  "what looks like a mark": [{ a: '{"\\u0000":0}', b: "{", c: '{"', d: '\0', e: '{\0' }, long("x"), '"\0":0}', { '{"': [long("y")] }],
  "a key like a mark": [{ "\0": 0 }, long("x")],
  "__proto__": [JSON.parse('{"__proto__":{"a":1},"b":2}'), long("x")],
  "a text under __proto__": JSON.parse(JSON.stringify({ p: long("x") }).replace('"p"', '"__proto__"')),
  "a message of LangChain": [new HumanMessage(long("hello")), long("x")],
  "one that was written out": [{ lc: 1, type: "constructor", id: ["langchain_core", "messages", "HumanMessage"], kwargs: { content: "hi" } }, long("x")],
  "what JSON leaves out": { a: undefined, b: long("x") },
  "empty ones": [[], {}, "", long("x"), null],
};

test.each(Object.keys(values))("reads what the serializer alone reads: %s", async (name) => {
  const serializer = new PlainSerializer();
  const expected: unknown = await serializer.loadsTyped(...(await serializer.dumpsTyped(values[name])));
  const episode = freshEpisode();
  await put(new PawlSaver(episode), values[name]);
  const read = await get(new PawlSaver(episode));
  expect(JSON.stringify(read) === JSON.stringify(expected)).toBe(true); // the order of keys, too
  expect(read).toEqual(expected);
});

test("a long text is stored as it is, and half of a pair as JSON", async () => {
  const saver = new PawlSaver(freshEpisode());
  await put(saver, [long("raw"), { content: long("Größe") }, lone]);
  const payload = await stored(saver);
  for (const text of [long("raw"), long("Größe")]) expect(payload.includes(text)).toBe(true);
  expect(payload.includes(JSON.stringify(lone))).toBe(true);
});

test("what changes after the call is not in it, and what is put at once does not mix", async () => {
  const saver = new PawlSaver(freshEpisode());
  const threads = Array.from({ length: 20 }, (_, i) => ({ configurable: { thread_id: `t${i}`, checkpoint_ns: "" } }));
  for (let round = 0; round < 3; round++) {
    const puts = threads.map((thread, i) => {
      const state = [message(i), { content: long(`of ${i} in ${round}`, 100 * (i + 1)) }];
      const done = put(saver, state, thread);
      state.push({ content: long("later") });
      return done;
    });
    await Promise.all(puts);
    for (const [i, thread] of threads.entries()) {
      expect(await get(saver, thread)).toEqual([message(i), { content: long(`of ${i} in ${round}`, 100 * (i + 1)) }]);
    }
  }
});
