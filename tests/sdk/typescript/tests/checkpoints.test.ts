import { connect, InvalidError, PawlError, TooLargeError, UnavailableError } from "@pawl/sdk";
import { expect, test } from "vitest";

import { freshEpisode, freshPawl } from "./support.js";

test("what was saved is loaded, by a connection of another process too", async () => {
  const episode = freshEpisode();
  const saved = await connect(episode).save("coder-0", { turn: 3, words: ["grün", "\u{1f600}"] }, { metadata: { phase: "write" } });
  const loaded = await connect(episode).load("coder-0");
  expect(loaded!.json()).toEqual({ turn: 3, words: ["grün", "\u{1f600}"] });
  expect(loaded!.checkpoint).toEqual(saved);
  expect(saved).toMatchObject({ id: "coder-0", metadata: { phase: "write" }, changed: [] });
  expect(saved.savedAt).toMatch(/^20.*Z$/);
});

test("an id is made of role and depth, the same one in every process", async () => {
  const episode = freshEpisode();
  const pawl = connect(episode);
  expect([pawl.checkpointId(), pawl.checkpointId("judge")]).toEqual(["main-0", "judge-0"]);
  await pawl.save(undefined, "whole");
  const ids = await pawl.children("main-0").spawn("outer", async (child) => {
    await pawl.save(undefined, "outer");
    const inStep = await pawl.step("in a step", { kind: "pure" }, {}, () => pawl.checkpointId());
    const own = [pawl.checkpointId(), pawl.checkpointId("judge"), inStep];
    return [...own, ...(await pawl.children(child.id).spawn("inner", () => [pawl.checkpointId(), pawl.checkpointId("judge")]))];
  });
  expect(ids).toEqual(["main-0/0.0", "main-0/0.0/judge-1", "main-0/0.0", "main-0/0.0/0.0", "main-0/0.0/0.0/judge-2"]);
  expect((await connect(episode).load())!.payload.toString()).toBe("whole");
  expect((await pawl.list()).checkpoints.map((checkpoint) => checkpoint.id)).toEqual(["main-0/0.0", "main-0"]);
});

test("bytes and strings are saved as they are", async () => {
  const pawl = freshPawl();
  const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => (i * i) % 251);
  await pawl.save("bytes-0", bytes);
  await pawl.save("text-0", "no JSON");
  await pawl.save("empty-0", "");
  expect(Buffer.from((await pawl.load("bytes-0"))!.payload).equals(Buffer.from(bytes))).toBe(true);
  expect(Buffer.from((await pawl.load("text-0"))!.payload).toString()).toBe("no JSON");
  expect((await pawl.load("empty-0"))!.payload.length).toBe(0);
});

test("nothing saved is undefined, and another episode's is nothing", async () => {
  await freshPawl().save("coder-0", "mine");
  expect(await freshPawl().load("coder-0")).toBeUndefined();
});

test("the newest is loaded, or the seq that is asked for; keep removes the oldest", async () => {
  const pawl = freshPawl();
  const seqs: number[] = [];
  for (let i = 0; i < 4; i++) seqs.push((await pawl.save("coder-0", { i }, { keep: 2 })).seq);
  expect((await pawl.load("coder-0"))!.json()).toEqual({ i: 3 });
  expect((await pawl.load("coder-0", { seq: seqs[2]! }))!.json()).toEqual({ i: 2 });
  expect(await pawl.load("coder-0", { seq: seqs[0]! })).toBeUndefined();
  const page = await pawl.list({ id: "coder-0" });
  expect(page.checkpoints.map((checkpoint) => checkpoint.seq)).toEqual([seqs[3], seqs[2]]);
});

test("pages go from the newest to the oldest, with payloads when they are asked for", async () => {
  const pawl = freshPawl();
  for (let i = 0; i < 5; i++) await pawl.save(`a/${i}`, `payload ${i}`);
  await pawl.save("b", "other");
  const first = await pawl.list({ prefix: "a/", limit: 3, payload: true });
  expect(first.more).toBe(true);
  expect(first.checkpoints.map(({ id, payload }) => [id, Buffer.from(payload!).toString()])).toEqual(
    [["a/4", "payload 4"], ["a/3", "payload 3"], ["a/2", "payload 2"]]);
  const second = await pawl.list({ prefix: "a/", before: first.checkpoints.at(-1)!.seq });
  expect([second.more, second.checkpoints.map(({ id }) => id)]).toEqual([false, ["a/1", "a/0"]]);
  expect(second.checkpoints[0]!.payload).toBeUndefined();
});

test("prune removes a prefix, or exactly an id", async () => {
  const pawl = freshPawl();
  for (const id of ["a", "ab", "a/b", "c"]) await pawl.save(id, id);
  expect(await pawl.prune({ id: "a" })).toBe(1);
  expect(await pawl.prune({ prefix: "a" })).toBe(2);
  expect((await pawl.list()).checkpoints.map(({ id }) => id)).toEqual(["c"]);
});

test("ids of every kind arrive as they were given", async () => {
  const pawl = freshPawl();
  const ids = ["role-0/1.2", "ä ö&=+%#?", "%2F", "日本語", "x".repeat(512)];
  for (const id of ids) await pawl.save(id, id);
  expect((await pawl.list()).checkpoints.map(({ id }) => id)).toEqual([...ids].reverse());
  for (const id of ids) expect(Buffer.from((await pawl.load(id))!.payload).toString()).toBe(id);
});

test("what was spent is saved with it", async () => {
  const pawl = freshPawl();
  await pawl.usage("call-1", { model: "m", inputTokens: 10, outputTokens: 5, usd: "0.25" });
  const saved = await pawl.save("coder-0", "x");
  expect(saved.spent).toMatchObject({ tokens: 15 });
  expect(Number(saved.spent.usd)).toBe(0.25);
  const told = await pawl.save("coder-0", "x", { spent: { usd: "1.5", tokens: 7, milliseconds: 9 } });
  expect(told.spent).toMatchObject({ tokens: 7, milliseconds: 9 });
});

test("mistakes are errors of their kind, with what the server says", async () => {
  const pawl = freshPawl();
  await expect(pawl.save("", "x")).rejects.toBeInstanceOf(InvalidError);
  await expect(pawl.save("x".repeat(513), "x")).rejects.toBeInstanceOf(PawlError);
  await expect(pawl.save("coder-0", "x", { metadata: { long: "x".repeat(70_000) } })).rejects.toBeInstanceOf(PawlError);
  await pawl.save("coder-1", "x", { metadata: { long: "x".repeat(65_000) } });
  const error = await pawl.save("coder-0", "x", { keep: -1 }).catch((thrown: unknown) => thrown as PawlError);
  expect(error).toMatchObject({ name: "InvalidError", type: "urn:pawl:invalid", status: 400 });
  expect(await pawl.load("coder-0")).toBeUndefined();
});

test("a state that JSON can't tell is refused, and does not push out a good one", async () => {
  const pawl = freshPawl();
  await pawl.save("coder-0", { good: true });
  for (const bad of [{ t: NaN }, { m: new Map([["a", 1]]) }, undefined, () => 1, { v: 10n }, { cut: "\ud83d" }]) {
    await expect(pawl.save("coder-0", bad as object)).rejects.toThrow(/^the payload of coder-0/);
  }
  await expect(pawl.save("coder-0", "x", { metadata: { score: NaN } })).rejects.toThrow(/^the metadata of coder-0.score is NaN/);
  expect((await pawl.load("coder-0"))?.json()).toEqual({ good: true });
});

test("64 MiB are saved, one byte more is too large", async () => {
  const pawl = freshPawl();
  const bytes = Buffer.alloc((64 << 20) + 1, "abc");
  await pawl.save("large-0", bytes.subarray(1), { keep: 1 });
  expect((await pawl.load("large-0"))!.payload.length).toBe(64 << 20);
  await expect(pawl.save("large-0", bytes)).rejects.toBeInstanceOf(TooLargeError);
  await pawl.prune({ id: "large-0" });
}, 120_000);

test("many at once go over a few sockets", async () => {
  const pawl = freshPawl();
  const seqs = await Promise.all(Array.from({ length: 300 }, async (_, i) => (await pawl.save(`many/${i}`, `${i}`)).seq));
  expect(new Set(seqs).size).toBe(300);
  expect((await pawl.list({ prefix: "many/", limit: 1000 })).checkpoints.length).toBe(300);
});

test("without a socket the error says what to do", async () => {
  const before = process.env["PAWL_SOCKET"];
  delete process.env["PAWL_SOCKET"];
  try {
    expect(() => connect()).toThrow(/pawl run.*pawl agentd/);
  } finally {
    process.env["PAWL_SOCKET"] = before;
  }
  const nobody = connect({ socket: "/nonexistent/pawl.sock" });
  await expect(nobody.context()).rejects.toBeInstanceOf(UnavailableError);
  await expect(nobody.context()).rejects.toThrow(/pawl agentd/);
});
