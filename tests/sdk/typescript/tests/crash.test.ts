// kill -9 of the agent's process and of agentd, at any moment: what was answered as done is never done again.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import { envOf, startAgent, startAgentd, until } from "./support.js";

const AGENT_KILLS = 25;
const AGENTD_KILLS = 12;

test("no completed step of twenty runs twice, and no saved checkpoint is lost", async () => {
  const seed = Number(process.env["PAWL_SEED"] ?? Date.now() % 1_000_000);
  console.log(`PAWL_SEED=${seed}`);
  const random = randomOf(seed);
  const folder = mkdtempSync(join(tmpdir(), "pawl-crash-"));
  let agentd = await startAgentd(folder);
  let [agentKills, agentdKills, runs] = [0, 0, 0];
  try {
    while (agentKills < AGENT_KILLS || agentdKills < AGENTD_KILLS) {
      const diary = join(folder, `diary-${runs}`);
      const env = envOf({ socket: agentd.socket, goal: "crash", episode: `e${runs}` });
      runs += 1;
      for (let ended = false; !ended; ) {
        const agent = startAgent("twenty.mjs", env, diary);
        // Mostly while it works: a process takes longer to start than to do all twenty steps.
        if (random() < 0.8) await until(() => agent.output() !== "" || agent.process.exitCode !== null);
        while (agentKills < AGENT_KILLS || agentdKills < AGENTD_KILLS) {
          const first = await Promise.race([agent.ended.then(() => "ended"), sleep(random() * 300).then(() => "time")]);
          if (first === "ended") break;
          if (random() < 0.3) {
            await agentd.kill();
            agentdKills += 1;
            agentd = await startAgentd(folder);
          } else if (agent.process.kill("SIGKILL")) {
            agentKills += 1;
            break;
          }
        }
        const { code } = await agent.ended;
        ended = code === 0;
        if (code !== null && code !== 0) expect(agent.errors()).toContain("nobody listens"); // it came between two agentd
      }
      check(readFileSync(diary, "utf8"));
    }
  } finally {
    await agentd.kill();
    rmSync(folder, { recursive: true });
  }
  console.log(`${runs} agents ended, ${agentKills} kills of an agent, ${agentdKills} of agentd`);
}, 300_000);

function check(diary: string): void {
  const values = new Map<string, string>();
  let saved = -1;
  for (const line of diary.trimEnd().split("\n")) {
    const [what, step, value] = line.split(" ") as [string, string, string];
    if (what === "ran") expect(values.has(step), `step ${step} was completed, and ran again`).toBe(false);
    if (what === "completed") expect(values.get(step) ?? value, `step ${step} has another result`).toBe(value);
    if (what === "completed") values.set(step, value);
    if (what === "loaded") expect(Number(step), "a saved checkpoint is gone").toBeGreaterThanOrEqual(saved);
    if (what === "saved") saved = Math.max(saved, Number(step));
  }
  expect([...values.keys()].map(Number)).toEqual(Array.from({ length: 20 }, (_, i) => i));
}

// mulberry32: the same moments for the same seed, as far as the machine lets them be the same.
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
