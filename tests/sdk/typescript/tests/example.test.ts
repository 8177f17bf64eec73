// examples/langgraph-js, killed while it asks, and started again.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { connect } from "@pawl/sdk";
import { expect, test } from "vitest";

import { answer, envOf, freshEpisode, startAgent, until } from "./support.js";

test.each(["yes", "no"])("the graph of examples/langgraph-js goes on after kill -9; the answer is %s", async (said) => {
  const episode = freshEpisode();
  const folder = mkdtempSync(join(tmpdir(), "pawl-example-"));
  const env = { ...envOf(episode), WORKSPACE: folder, MODEL_CALLS: join(folder, "calls") };
  try {
    const first = startAgent("../example/agent.mjs", env);
    await until(() => first.output().includes("asking"));
    first.process.kill("SIGKILL");
    expect((await first.ended).signal).toBe("SIGKILL");
    expect(first.output()).toMatch(/^started\nasking interrupt-/);

    const second = startAgent("../example/agent.mjs", env);
    await until(() => second.output().includes("asking"));
    expect(second.output()).toBe(first.output().replace("started", "resumed before review")); // the same question
    const key = /asking (\S+)/.exec(second.output())![1]!;
    await connect(episode).ask(key, "Keep this? A note about: checkpoints", { choices: ["yes", "no"], wait: 0 }).catch(() => undefined);
    await answer(episode, key, said);
    expect((await second.ended).code).toBe(0);
    expect(readFileSync(join(folder, "note.txt"), "utf8")).toMatch(said === "yes" ? /^A note about/ : /^nothing was kept/);
    expect(readFileSync(join(folder, "calls"), "utf8")).toBe("called\n");

    const third = startAgent("../example/agent.mjs", env);
    expect((await third.ended).code).toBe(0);
    expect(third.output()).toBe("resumed before the end\ndone\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
