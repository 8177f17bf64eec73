// examples/langgraph-js, killed while it asks, and started again; and as what it is, the agent of a plan.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { connect } from "@pawl/sdk";
import { expect, test } from "vitest";

import { answer, envOf, freshEpisode, startAgent, until } from "./support.js";

const PACKAGES = join(import.meta.dirname, "..");

test.each(["yes", "no"])("the graph of examples/langgraph-js goes on after kill -9; the answer is %s", async (said) => {
  const episode = freshEpisode();
  const folder = mkdtempSync(join(tmpdir(), "pawl-example-"));
  // Each process has a fresh workspace, as in a run.
  const start = (name: string) => {
    mkdirSync(join(folder, name));
    return startAgent("../example/agent.mjs", { ...envOf(episode), WORKSPACE: join(folder, name), MODEL_CALLS: join(folder, "calls") });
  };
  const note = (name: string) => readFileSync(join(folder, name, "note.txt"), "utf8");
  const wanted = said === "yes" ? "A note about: checkpoints\n" : "nothing was kept\n";
  try {
    const first = start("first");
    await until(() => first.output().includes("asking"));
    first.process.kill("SIGKILL");
    expect((await first.ended).signal).toBe("SIGKILL");
    expect(first.output()).toMatch(/^started\nasking interrupt-/);

    const second = start("second");
    await until(() => second.output().includes("asking"));
    expect(second.output()).toBe(first.output().replace("started", "resumed before review")); // the same question
    const key = /asking (\S+)/.exec(second.output())![1]!;
    await connect(episode).ask(key, "Keep this? A note about: checkpoints", { choices: ["yes", "no"], wait: 0 }).catch(() => undefined);
    await answer(episode, key, said);
    expect((await second.ended).code).toBe(0);
    expect(note("second")).toBe(wanted);
    expect(readFileSync(join(folder, "calls"), "utf8")).toBe("called\n");

    // As after a kill between the graph's last checkpoint and the process's end: what it wrote is gone.
    const third = start("third");
    expect((await third.ended).code).toBe(0);
    expect(third.output()).toBe("resumed before the end\ndone\n");
    expect(note("third")).toBe(wanted);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the plan of examples/langgraph-js runs", async () => {
  const folder = join(PACKAGES, "plan"); // on the disk of the packages, so that they are linked
  execFileSync("rm", ["-rf", folder]);
  cpSync(join(PACKAGES, "tests/example"), folder, { recursive: true });
  execFileSync("cp", ["-al", join(PACKAGES, "node_modules"), folder]);
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PAWL")));
  const pawl = (...args: string[]) => execFileSync(process.env["PAWL"]!, args, { cwd: folder, env: environment, encoding: "utf8" });
  const run = spawn(process.env["PAWL"]!, ["run", "plan.yaml"], { cwd: folder, env: environment, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(run, "exit");
  try {
    await once(run.stdout.on("data", () => undefined), "data"); // it says which run it is
    let asked: { phase_id: string; key: string; question: string }[] = [];
    await until(async () => {
      await sleep(200);
      asked = JSON.parse(pawl("answer", "last", "--json")) as typeof asked;
      return asked.length > 0 || run.exitCode !== null;
    });
    expect(asked).toMatchObject([{ phase_id: "note", question: "Keep this? A note about: Write a note about checkpoints" }]);
    pawl("answer", "last", "note", asked[0]!.key, "yes");
    expect(await ended).toEqual([0, null]);
    expect(pawl("diff", "last")).toContain("+A note about: Write a note about checkpoints\n");
  } finally {
    run.kill();
    await ended;
    execFileSync("rm", ["-rf", folder]); // Node takes half a minute for thousands of files
  }
});
