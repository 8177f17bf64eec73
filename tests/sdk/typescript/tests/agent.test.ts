import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { connect, ConflictError, DeterminismError, UnansweredError } from "@pawl/sdk";
import { expect, test } from "vitest";

import { answer, freshEpisode, freshPawl, startAgentd } from "./support.js";

test("the context tells a fresh start from a resumed one", async () => {
  const episode = freshEpisode();
  const fresh = await connect(episode).context();
  expect(fresh).toMatchObject({ goalId: "tests", episodeId: episode.episode, resumed: false, stop: false });
  expect(fresh.spent).toMatchObject({ tokens: 0 });
  expect(typeof fresh.fingerprint.pawl).toBe("string");
});

test("usage is told once however often it is said", async () => {
  const pawl = freshPawl();
  await pawl.usage("call-1", { model: "m", inputTokens: 100, outputTokens: 20, cachedTokens: 60, usd: "0.5" });
  await pawl.usage("call-1", { model: "m", inputTokens: 100, outputTokens: 20, cachedTokens: 60, usd: "0.5" });
  const budget = await pawl.usage("call-2", { model: "m", inputTokens: 1, outputTokens: 1, usd: "0.25" });
  expect(Number(budget.spent.usd)).toBe(0.75);
  expect(budget.spent.tokens).toBe(122);
  const { milliseconds, ...spent } = budget.spent;
  const later = (await pawl.heartbeat("thinking")).spent;
  expect(later).toMatchObject(spent);
  expect(later.milliseconds).toBeGreaterThanOrEqual(milliseconds);
  await pawl.log("one line", "warning");
});

test("twins that are spawned at once have places of their own, the same in the next process", async () => {
  const episode = freshEpisode();
  const results: string[][] = [];
  for (let process_ = 0; process_ < 2; process_++) {
    const children = connect(episode).children("lead-0");
    let runs = 0;
    const run = async ({ id }: { id: string }) => {
      runs += 1;
      return `result of ${id}`;
    };
    const twins = await Promise.all([children.spawn({ task: "same" }, run), children.spawn({ task: "same" }, run)]);
    const team = await children.spawnAll([{ spec: { task: "a" }, run }, { spec: { task: "a" }, run }, { spec: { task: "b" }, run }]);
    results.push([...twins, ...team]);
    expect(runs).toBe(process_ === 0 ? 5 : 0);
  }
  expect(results[1]).toEqual(results[0]);
  const ids = ["0.0", "1.0", "2.0", "2.1", "2.2"].map((place) => `lead-0/${place}`);
  expect(results[0]).toEqual(ids.map((id) => `result of ${id}`));
  const { children, more } = await connect(episode).listChildren();
  expect(more).toBe(false);
  expect(children.map(({ childId, state }) => [childId, state])).toEqual(ids.map((id) => [id, "done"]));
});

test("a child that did not finish is resumed; one with another task is refused", async () => {
  const episode = freshEpisode();
  const failing = connect(episode).children("lead-0").spawn({ task: "a" }, () => {
    throw new Error("crashed");
  });
  await expect(failing).rejects.toThrow("crashed");
  const seen: boolean[] = [];
  expect(await connect(episode).children("lead-0").spawn({ task: "a" }, ({ resumed }) => seen.push(resumed))).toBe(1);
  expect(seen).toEqual([true]);
  const other = connect(episode).children("lead-0").spawn({ task: "b" }, () => 1);
  await expect(other).rejects.toBeInstanceOf(DeterminismError);
});

test("no spawn is counted inside of a step", async () => {
  const episode = freshEpisode();
  const pawl = connect(episode);
  const team = pawl.children("lead-0");
  const run = ({ id }: { id: string }) => id;
  const ways = [() => team.spawn("roll", run), async () => sleep(5).then(() => team.spawnAll([{ spec: "roll", run }]))];
  for (const [i, way] of ways.entries()) {
    await expect(pawl.step<unknown>(`${i}-way`, {}, {}, way)).rejects.toThrow(/the step \d-way.*pawl\.child\(parent, spawnSeq, ordinal/);
  }
  expect((await pawl.listChildren()).children).toEqual([]);
  expect(await Promise.all([team.spawn("roll", run), team.spawn("roll", run)])).toEqual(["lead-0/0.0", "lead-0/1.0"]);
});

test("a child that a step names counts its own", async () => {
  const episode = freshEpisode();
  const ids = [0, 1].map((seq) => [0, 1].map((i) => `roll-0/${seq}.0/${i}.0`));
  const told: string[] = [];
  const leaf = ({ id }: { id: string }) => (told.push(id), id);
  for (const fails of [true, false, false]) {
    const pawl = connect(episode);
    const branch = async ({ id }: { id: string }) => {
      const own = pawl.children(id);
      return [await own.spawn("same", leaf), await own.spawn("same", leaf)];
    };
    const roll = (seq: number) => pawl.step(`roll ${seq}`, { kind: "pure" }, {}, async () => {
      const done = await pawl.child("roll-0", seq, 0, "same", branch);
      if (fails && seq === 1) throw new Error("crashed");
      return done;
    });
    const all = [await roll(0), await roll(1).catch(() => "failed"), await pawl.children("lead-0").spawn("same", leaf)];
    expect(all).toEqual([ids[0], fails ? "failed" : ids[1], "lead-0/0.0"]);
  }
  expect(told).toEqual([...ids.flat(), "lead-0/0.0"]);
});

test("a child counts no spawns of another", async () => {
  const pawl = freshPawl();
  const team = pawl.children("lead-0");
  const run = ({ id }: { id: string }) => id;
  await expect(team.spawn("a", () => team.spawn("a", run))).rejects.toThrow(/the child lead-0\/0\.0.*pawl\.child/);
  expect(await team.spawn("b", ({ id }) => pawl.children(`${id}/coder`).spawn("c", run))).toBe("lead-0/1.0/coder/0.0");
});

test("a question is asked once, and its answer is kept", async () => {
  const episode = freshEpisode();
  const pawl = connect(episode);
  await expect(pawl.ask("deploy", "Deploy now?", { choices: ["yes", "no"], wait: 0 })).rejects.toBeInstanceOf(UnansweredError);
  await expect(pawl.ask("deploy", "Another text?", { wait: 0 })).rejects.toBeInstanceOf(ConflictError);
  const waiting = pawl.ask("deploy", "Deploy now?", { choices: ["yes", "no"] });
  await answer(episode, "deploy", "yes");
  expect(await waiting).toBe("yes");
  expect(await connect(episode).ask("deploy", "Deploy now?", { choices: ["yes", "no"] })).toBe("yes");
});

test("a process that connects a thousand times takes a few connections", async () => {
  const episode = freshEpisode();
  const sessions = await Promise.all(Array.from({ length: 1000 }, async () => (await connect(episode).context()).session));
  expect(new Set(sessions)).toEqual(new Set([1]));
});

test("a socket's path can be longer than an address", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "pawl-long-")), "long".repeat(40));
  mkdirSync(folder);
  const agentd = await startAgentd(folder);
  try {
    const pawl = connect({ socket: agentd.socket });
    await pawl.save("coder-0", "x");
    expect((await pawl.load("coder-0"))!.checkpoint.size).toBe(1);
  } finally {
    await agentd.kill();
    rmSync(dirname(folder), { recursive: true });
  }
});
