// Behaviour of PawlSaver that LangGraph's validation does not test.
import { existsSync, statSync } from "node:fs";

import { DeltaSnapshot, emptyCheckpoint, ERROR, INTERRUPT, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { connect } from "@pawl/sdk";
import { PawlSaver } from "@pawl/langgraph";
import { expect, test } from "vitest";

import { freshEpisode } from "./support.js";

const META = { source: "loop" as const, step: 0, parents: {} };

function configOf(thread: string, checkpoint?: string, ns = "") {
  return { configurable: { thread_id: thread, checkpoint_ns: ns, ...(checkpoint && { checkpoint_id: checkpoint }) } };
}

function checkpointOf(values: Record<string, unknown>, id = uuid6(3)): Checkpoint {
  const versions = Object.fromEntries(Object.keys(values).map((name) => [name, 1]));
  return { ...emptyCheckpoint(), id, channel_values: values, channel_versions: versions };
}

async function put(saver: PawlSaver, thread: string, values: Record<string, unknown>, id = uuid6(3), ns = "", meta: object = META) {
  const checkpoint = checkpointOf(values, id);
  return saver.put(configOf(thread, undefined, ns), checkpoint, meta as typeof META, checkpoint.channel_versions);
}

test("the newest is the highest id, in whatever order they were put, and for a new process too", async () => {
  const episode = freshEpisode();
  const ids = Array.from({ length: 40 }, () => uuid6(3));
  const saver = new PawlSaver(episode);
  for (const id of [...ids].reverse()) await put(saver, "copied", { id }, id);
  for (const reader of [saver, new PawlSaver(episode)]) {
    expect((await reader.getTuple(configOf("copied")))!.checkpoint.id).toBe(ids.at(-1));
  }
  const next = uuid6(3);
  await put(new PawlSaver(episode), "copied", { next }, next);
  expect((await new PawlSaver(episode).getTuple(configOf("copied")))!.checkpoint.id).toBe(next);
});

test("many at once are put in the order of the calls", async () => {
  const episode = freshEpisode();
  const saver = new PawlSaver(episode);
  await saver.getTuple(configOf("t"));
  const ids = Array.from({ length: 50 }, () => uuid6(3));
  await Promise.all(ids.map((id) => put(saver, "t", { id }, id)));
  expect((await new PawlSaver(episode).getTuple(configOf("t")))!.checkpoint.id).toBe(ids.at(-1));
});

test("writes that are put before their checkpoint, or while it is put, are its", async () => {
  for (const known of [false, true]) {
    const episode = freshEpisode();
    const saver = new PawlSaver(episode);
    if (known) await saver.getTuple(configOf("t"));
    const id = uuid6(3);
    await saver.putWrites(configOf("t", id), [["a", 1]], "task-1");
    await Promise.all([put(saver, "t", {}, id), saver.putWrites(configOf("t", id), [["b", 2]], "task-2")]);
    for (const reader of [saver, new PawlSaver(episode)]) {
      expect((await reader.getTuple(configOf("t")))!.pendingWrites).toEqual([["task-1", "a", 1], ["task-2", "b", 2]]);
    }
  }
});

test("a checkpoint that is put again has its new values and its writes", async () => {
  const episode = freshEpisode();
  const saver = new PawlSaver(episode);
  const id = uuid6(3);
  const config = await put(saver, "t", { a: 1 }, id);
  await saver.putWrites(config, [["x", 1]], "task");
  await put(saver, "t", { a: 2 }, id);
  for (const reader of [saver, new PawlSaver(episode)]) {
    for (const asked of [config, configOf("t")]) {
      const tuple = (await reader.getTuple(asked))!;
      expect([tuple.checkpoint.channel_values, tuple.pendingWrites]).toEqual([{ a: 2 }, [["task", "x", 1]]]);
    }
    expect(await count(reader.list(configOf("t")))).toBe(1);
  }
});

test("the first write of a task stays; of an error or interrupt the last", async () => {
  const saver = new PawlSaver(freshEpisode());
  const config = await put(saver, "t", {});
  await saver.putWrites(config, [["a", "first"], [ERROR, "e1"]], "task");
  await saver.putWrites(config, [["a", "second"], [ERROR, "e2"], ["constructor", 3]], "task");
  await saver.putWrites(config, [[INTERRUPT, "i1"]], "task");
  await saver.putWrites(config, [[INTERRUPT, "i2"]], "task");
  const { pendingWrites } = (await saver.getTuple(config))!;
  expect(pendingWrites).toEqual([["task", INTERRUPT, "i2"], ["task", ERROR, "e2"], ["task", "a", "first"], ["task", "constructor", 3]]);
});

test("writes come in the order of the tasks' paths", async () => {
  const saver = new PawlSaver(freshEpisode());
  const config = await put(saver, "t", {});
  await saver.putWrites(config, [["a", 1]], "1", "~__pregel_pull, b");
  await saver.putWrites(config, [["a", 2], ["a", 3]], "2", "~__pregel_pull, a");
  await saver.putWrites(config, [["a", 4]], "3");
  expect((await saver.getTuple(config))!.pendingWrites!.map((write) => write[2])).toEqual([4, 2, 3, 1]);
});

test("a hundred tasks and a megabyte are read whole, by a new process too", async () => {
  const episode = freshEpisode();
  const saver = new PawlSaver(episode);
  const config = await put(saver, "t", { text: "x".repeat(1 << 20) });
  await Promise.all(Array.from({ length: 100 }, (_, i) => saver.putWrites(config, [["out", "y".repeat(5000) + i]], `task-${1000 + i}`)));
  for (const reader of [saver, new PawlSaver(episode)]) {
    for (const asked of [config, configOf("t")]) {
      const tuple = (await reader.getTuple(asked))!;
      expect((tuple.checkpoint.channel_values["text"] as string).length).toBe(1 << 20);
      expect(tuple.pendingWrites!.map(([task]) => task)).toEqual(Array.from({ length: 100 }, (_, i) => `task-${1000 + i}`));
    }
  }
});

test("names of threads, namespaces and tasks can be anything", async () => {
  const saver = new PawlSaver(freshEpisode());
  const names = ["a/b", "a", "%2F", "~", "é \u{1f600}|:", "__proto__", "x".repeat(2000), "y".repeat(121)];
  for (const name of names) {
    const config = await put(saver, name, { name }, uuid6(3), `ns ${name}`);
    await saver.putWrites(config, [["c", name]], name);
  }
  for (const name of names) {
    const tuple = (await saver.getTuple(configOf(name, undefined, `ns ${name}`)))!;
    expect([tuple.checkpoint.channel_values, tuple.pendingWrites]).toEqual([{ name }, [[name, "c", name]]]);
    expect(tuple.config.configurable).toMatchObject({ thread_id: name, checkpoint_ns: `ns ${name}` });
    expect(await count(saver.list({ configurable: { thread_id: name } }))).toBe(1);
  }
  const all = [];
  for await (const tuple of saver.list({ configurable: {} })) all.push(tuple.config.configurable!["thread_id"]);
  expect(all.sort()).toEqual([...names].sort());
  await saver.deleteThread("a");
  expect(await saver.getTuple(configOf("a", undefined, "ns a"))).toBeUndefined();
  expect(await count(saver.list({ configurable: {} }))).toBe(names.length - 1);
});

test("filters know every value, large metadata too", async () => {
  const saver = new PawlSaver(freshEpisode());
  await put(saver, "t", {}, uuid6(3), "", { ...META, temperature: 0.7, tags: ["a", "b"], large: "z".repeat(30_000) });
  await put(saver, "t", {}, uuid6(3), "", { ...META, temperature: 0.7 });
  const found = (filter: Record<string, unknown>) => count(saver.list(configOf("t"), { filter }));
  expect(await found({ temperature: 0.7 })).toBe(2);
  expect(await found({ tags: ["a", "b"] })).toBe(1);
  expect(await found({ tags: ["b", "a"] })).toBe(0);
  expect(await count(saver.list(configOf("t"), { filter: { tags: ["a", "b"] }, limit: 1 }))).toBe(1);
});

test("values keep their kind", async () => {
  const saver = new PawlSaver(freshEpisode());
  const values = {
    set: new Set([1, 2]), map: new Map([["a", 1]]), bytes: Uint8Array.from([0, 255]), nothing: undefined, lc: { lc: "no object" },
    deep: { of: [{ regexp: /x/gi }] }, snapshot: new DeltaSnapshot([1]), text: 'with "lc" in it',
  };
  const config = await put(saver, "t", values);
  expect((await saver.getTuple(config))!.checkpoint.channel_values).toEqual(values);
});

test("a growing conversation is stored as what was added", async () => {
  const episode = freshEpisode();
  const saver = new PawlSaver(episode);
  const words = Array.from({ length: 2000 }, (_, i) => `${i} ${Math.sin(i)} ${Math.cos(i)}`.repeat(8));
  let config = await put(saver, "t", { messages: words });
  for (let i = 0; i < 20; i++) {
    words.push(`more ${i}`);
    const checkpoint = checkpointOf({ messages: words });
    config = await saver.put(config, checkpoint, META, {});
  }
  const { checkpoints } = await connect(episode).list({ prefix: "langgraph/t/" });
  expect(checkpoints.length).toBe(21);
  const told = checkpoints.reduce((sum, { size }) => sum + size, 0);
  const file = `${process.env["PAWL_STATE"]!}/agents/agentd/${episode.goal}/${episode.episode}.db`;
  // The log of the database too: a page is there and in it, at most.
  const stored = [file, `${file}-wal`].reduce((sum, name) => sum + (existsSync(name) ? statSync(name).size : 0), 0);
  expect(told / stored).toBeGreaterThan(3);
  expect(((await saver.getTuple(config))!.checkpoint.channel_values["messages"] as string[]).length).toBe(2020);
});

async function count(tuples: AsyncIterable<unknown>): Promise<number> {
  let n = 0;
  for await (const _ of tuples) n += 1;
  return n;
}
