import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  argsHash, canonicalJson, connect, DeterminismError, StepLostError, TooLargeError, UnansweredError, UnavailableError,
} from "@pawl/sdk";
import { expect, test } from "vitest";

import { answer, envOf, freshEpisode, freshPawl, startAgent, startAgentd, until } from "./support.js";

test("a completed step is answered from the journal, in the next process too", async () => {
  const episode = freshEpisode();
  let runs = 0;
  const ask = (pawl = connect(episode)) => pawl.step("ask-1", { kind: "effect" }, { prompt: "hi" }, () => ({ reply: `${++runs}` }));
  expect(await ask()).toEqual({ reply: "1" });
  expect(await ask()).toEqual({ reply: "1" });
  expect(runs).toBe(1);
  const { steps } = await connect(episode).steps();
  expect(steps).toMatchObject([{ key: "ask-1", kind: "effect", state: "done", executions: 1, result: { reply: "1" } }]);
});

test("results of every kind come back as they were", async () => {
  const pawl = freshPawl();
  const results = [null, true, 0, 1.5, -3, 1e300, "", "ä\u0000\u{1f600}", [], {}, [[{ a: [1, 2.25] }]], { "": null, z: 1, a: 2 }];
  for (const [i, result] of results.entries()) {
    expect(await pawl.step(`k${i}`, {}, i, () => result)).toEqual(result);
    expect(await pawl.step(`k${i}`, {}, i, () => expect.unreachable())).toEqual(result);
  }
  expect(await pawl.step("date", {}, {}, () => new Date(0) as unknown)).toBe("1970-01-01T00:00:00.000Z");
  expect(await pawl.step("nothing", {}, {}, () => undefined)).toBeNull();
});

test("a step that throws is recorded as failed, and may run again", async () => {
  const pawl = freshPawl();
  const failing = pawl.step("fetch", {}, {}, () => {
    throw new RangeError("no network");
  });
  await expect(failing).rejects.toThrow(RangeError);
  expect((await pawl.steps()).steps).toMatchObject([{ key: "fetch", state: "failed", error: "RangeError: no network" }]);
  expect(await pawl.step("fetch", {}, {}, () => "got it")).toBe("got it");
});

test("a result that JSON can't tell leaves the step begun: that it did not happen would be a lie", async () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  for (const bad of [{ id: 10n }, cycle, new Map([[1, 2]]), { v: NaN }, () => 1, "cut \ud83d", { "\ud83d": 1 }]) {
    const episode = freshEpisode();
    let paid = 0;
    const run = () => connect(episode).step("pay", {}, {}, () => (paid++, bad as unknown));
    await expect(run()).rejects.toThrow(/^the result of pay/);
    await expect(run()).rejects.toThrow(/^the result of pay/);
    expect((await connect(episode).steps()).steps).toMatchObject([{ key: "pay", state: "begun", executions: 1 }]);
    expect(paid).toBe(1);
  }
});

test("what has run and was too large to keep does not run again", async () => {
  const pawl = freshPawl();
  let paid = 0;
  const run = () => pawl.step("pay", {}, {}, () => (paid++, "x".repeat(2 << 20)));
  for (let i = 0; i < 3; i++) await expect(run()).rejects.toBeInstanceOf(TooLargeError);
  expect(paid).toBe(1);
});

test("a result that could not be told is told by the next call", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-step-"));
  let agentd = await startAgentd(folder);
  try {
    const pawl = connect({ socket: agentd.socket });
    let paid = 0;
    const run = () => pawl.step("pay", {}, {}, async () => {
      await agentd.kill();
      return ++paid;
    });
    await expect(run()).rejects.toBeInstanceOf(UnavailableError);
    agentd = await startAgentd(folder);
    expect(await run()).toBe(1);
    expect((await pawl.steps()).steps).toMatchObject([{ state: "done", executions: 1, result: 1 }]);
    await agentd.kill();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("what a step throws is recorded as text and thrown on, whatever it is", async () => {
  for (const [thrown, told] of [
    [new RangeError("a".repeat(1987) + "\u{1f600}".repeat(30)), `RangeError: ${"a".repeat(1987)}\ufffd`],
    [new Error("half \ud800 of a pair"), "Error: half \ufffd of a pair"],
    ["a text", "a text"],
    [Object.create(null), "[Object: null prototype] {}"],
  ] as const) {
    const pawl = freshPawl();
    expect(await pawl.step("x", {}, {}, () => Promise.reject(thrown)).catch((caught: unknown) => caught)).toBe(thrown);
    expect((await pawl.steps()).steps).toMatchObject([{ state: "failed", error: told }]);
  }
});

test("what a step throws is thrown on when nobody is there to be told", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-step-"));
  const agentd = await startAgentd(folder);
  try {
    const failing = connect({ socket: agentd.socket }).step("x", {}, {}, async () => {
      await agentd.kill();
      throw new RangeError("no network");
    });
    await expect(failing).rejects.toThrow("no network");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("other arguments under the same key are a determinism error with both hashes", async () => {
  const pawl = freshPawl();
  await pawl.step("ask-1", {}, { prompt: "a" }, () => 1);
  const error = await pawl.step("ask-1", {}, { prompt: "b" }, () => 2).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DeterminismError);
  expect(error).toMatchObject({
    status: 409, key: "ask-1", recordedHash: argsHash({ prompt: "a" }), givenHash: argsHash({ prompt: "b" }),
  });
});

test("asked for twice at once it runs once; with other arguments it is refused", async () => {
  const pawl = freshPawl();
  let runs = 0;
  const run = async () => ++runs;
  const both = Promise.all([pawl.step("k", {}, 1, run), pawl.step("k", {}, 1, run)]);
  await expect(pawl.step("k", {}, 2, run)).rejects.toBeInstanceOf(DeterminismError);
  expect(await both).toEqual([1, 1]);
});

test("a pure step that was lost runs again", async () => {
  const episode = freshEpisode();
  await lose(episode, "pure", "");
  expect(await connect(episode).step("lost", { kind: "pure" }, {}, () => "again")).toBe("again");
});

test("a lost effect that is to fail says so", async () => {
  const episode = freshEpisode();
  await lose(episode, "effect", "fail");
  await expect(connect(episode).step("lost", { onLost: "fail" }, {}, () => 1)).rejects.toBeInstanceOf(StepLostError);
});

test.each([
  ["run", "ran"],
  ['done {"paid":true}', { paid: true }],
])("a lost effect waits for a person, who says: %s", async (said, wanted) => {
  const episode = freshEpisode();
  const key = await loseAndAsk(episode);
  const waiting = connect(episode).step<unknown>("lost", {}, {}, () => "ran");
  await answer(episode, key, said);
  expect(await waiting).toEqual(wanted);
});

test("a lost effect of which a person says that it failed is lost", async () => {
  const episode = freshEpisode();
  const key = await loseAndAsk(episode);
  const waiting = connect(episode).step("lost", {}, {}, () => "ran").catch((thrown: unknown) => thrown);
  await answer(episode, key, "fail");
  expect(await waiting).toBeInstanceOf(StepLostError);
});

test("hashes are of canonical JSON", () => {
  expect(canonicalJson({ b: [1, { d: null, c: "x" }], a: undefined, A: -0 })).toBe('{"A":0,"b":[1,{"c":"x","d":null}]}');
  expect(argsHash({ a: 1, b: 2 })).toBe(argsHash({ b: 2, a: 1 }));
  expect(argsHash([1, 2])).not.toBe(argsHash([2, 1]));
  const itself: object = { get itself() { return itself; } };
  for (const bad of [NaN, new Map(), () => 1, 10n, { deep: [Infinity] }, itself]) expect(() => argsHash(bad)).toThrow(TypeError);
});

// Begins the step "lost" in a process that is then killed.
async function lose(episode: ReturnType<typeof freshEpisode>, kind: string, onLost: string): Promise<void> {
  const agent = startAgent("hang.mjs", envOf(episode), kind, onLost);
  await until(() => agent.output().includes("begun"));
  agent.process.kill("SIGKILL");
  expect((await agent.ended).signal).toBe("SIGKILL");
}

// The key of the question about the step "lost".
async function loseAndAsk(episode: ReturnType<typeof freshEpisode>): Promise<string> {
  await lose(episode, "effect", "");
  const error: unknown = await connect(episode).step("lost", { wait: 0 }, {}, () => "ran").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UnansweredError);
  return (error as UnansweredError).key;
}
