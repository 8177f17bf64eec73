// Shared by the tests: the agentd that the driver (../run.py) has started, and processes of agents.
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import { fileURLToPath } from "node:url";

import { connect, type Pawl } from "@pawl/sdk";

export const SOCKET = process.env["PAWL_SOCKET"]!;

// An episode that nobody else has.
export function freshEpisode(): { socket: string; goal: string; episode: string } {
  return { socket: SOCKET, goal: "tests", episode: `e-${randomUUID()}` };
}

export function freshPawl(): Pawl {
  return connect(freshEpisode());
}

export interface Agent {
  process: ChildProcess;
  output(): string;
  errors(): string;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

// One of the agents beside this file, as a process of its own.
export function startAgent(name: string, env: Record<string, string>, ...args: string[]): Agent {
  const file = fileURLToPath(new URL(`agents/${name}`, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr!.on("data", (part: Buffer) => (errors += part.toString()));
  let text = "";
  child.stdout!.on("data", (part: Buffer) => (text += part.toString()));
  const ended = once(child, "close").then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }));
  return { process: child, output: () => text, errors: () => errors, ended };
}

export function envOf(episode: { socket: string; goal: string; episode: string }): Record<string, string> {
  return { PAWL_SOCKET: episode.socket, PAWL_GOAL_ID: episode.goal, PAWL_EPISODE_ID: episode.episode };
}

export async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await what())) await new Promise((resolve) => setTimeout(resolve, 5));
}

export interface Agentd {
  socket: string;
  kill(): Promise<void>; // with SIGKILL
}

// One more agentd, of its own folder; it listens when this resolves.
export async function startAgentd(folder: string): Promise<Agentd> {
  const socket = `${folder}/agentd.sock`;
  const agentd = spawn(process.env["PAWL"]!, ["agentd", "--dir", `${folder}/state`, "--socket", socket], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(agentd, "close");
  await once(agentd.stdout, "data");
  return {
    socket,
    async kill() {
      agentd.kill("SIGKILL");
      await ended;
    },
  };
}

// Sends an answer as `pawl answer` does, on the socket that no agent sees.
export async function answer(episode: { goal: string; episode: string }, key: string, said: string): Promise<void> {
  const request = http.request({
    socketPath: `${process.env["PAWL_STATE"]!}/operator.sock`, method: "POST", path: "/v1/answer",
    headers: { "Content-Type": "application/json", "Pawl-Goal": episode.goal, "Pawl-Episode": episode.episode },
  });
  request.end(JSON.stringify({ key, answer: said, who: "test" }));
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  response.resume();
  if (response.statusCode !== 200) throw new Error(`the answer was not taken: ${response.statusCode}`);
}
