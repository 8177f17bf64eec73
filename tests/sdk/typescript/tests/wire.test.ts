// How answers are put together from what a socket gives, against a server of the test's own.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { connect } from "@pawl/sdk";
import { expect, test } from "vitest";

test("answers that come in pieces, on several connections in turn, do not mix", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-wire-"));
  const socket = join(folder, "s");
  const server = net.createServer((peer) => {
    peer.once("data", async (request) => {
      const goal = /Pawl-Goal: (\S+)/.exec(request.toString())![1]!;
      const body = JSON.stringify({ goal_id: goal, goal: goal.repeat(30) });
      const answer = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      for (let at = 0; at < answer.length; at += 40) {
        peer.write(answer.slice(at, at + 40));
        await sleep(2);
      }
    });
  });
  server.listen(socket);
  await once(server, "listening");
  try {
    const goals = Array.from({ length: 8 }, (_, i) => `goal-${String(i).repeat(9)}`);
    const contexts = await Promise.all(goals.map((goal) => connect({ socket, goal, episode: "e" }).context()));
    expect(contexts.map((context) => context.goalId)).toEqual(goals);
    expect(contexts.map((context) => context.goal)).toEqual(goals.map((goal) => goal.repeat(30)));
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
});
