// The values of the API, with names in the spelling of this language.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Spent {
  usd: string; // a decimal: money is never a float
  tokens: number;
  milliseconds: number;
}

export interface Caps {
  usd?: string;
  tokens?: number;
}

export interface Budget {
  spent: Spent;
  caps: Caps;
  stop: boolean; // a cap is reached: save the state and end
}

export interface Fingerprint {
  plan: string;
  model: string;
  pawl: string;
}

export interface Context extends Budget {
  runId: string;
  phaseId: string;
  goalId: string;
  goal: string;
  episodeId: string;
  attempt: number;
  model: string;
  session: number; // 1 for the first process that called in this episode
  resumed: boolean;
  fingerprint: Fingerprint;
}

export interface Checkpoint {
  id: string;
  seq: number; // unique in the episode; grows with each save
  hash: string;
  size: number;
  metadata: { [key: string]: Json };
  spent: Spent;
  fingerprint: Fingerprint;
  changed: ("plan" | "model" | "pawl")[];
  savedAt: string;
  payload?: Uint8Array; // in a list that was requested with payloads
}

export interface CheckpointPage {
  checkpoints: Checkpoint[]; // newest first
  more: boolean;
  known?: string[]; // only where nothing was found: the newest ids that have checkpoints
}

export interface Loaded {
  payload: Uint8Array;
  checkpoint: Checkpoint;
  json<T = Json>(): T;
}

export interface SaveOptions {
  metadata?: { [key: string]: Json }; // its numbers are integers
  spent?: Spent; // spent so far; default: the sum of usage() and the time since the start
  keep?: number; // how many checkpoints of this id are retained: default 5, 0 for all
}

export interface ListOptions {
  prefix?: string;
  id?: string; // exactly this id instead of a prefix
  before?: number; // only checkpoints with a lower seq
  limit?: number; // up to 1000; default 100
  payload?: boolean;
}

export interface Step {
  key: string;
  kind: "pure" | "effect";
  argsHash: string;
  state: "begun" | "done" | "failed";
  executions: number;
  result?: Json;
  error?: string;
  begunAt: string;
  endedAt?: string;
}

export interface StepPage {
  steps: Step[];
  more: boolean;
}

export interface Child {
  childId: string;
  specHash: string;
  state: "running" | "done";
  result?: Json;
  spawnedAt: string;
  finishedAt?: string;
}

export interface ChildPage {
  children: Child[];
  more: boolean;
}

// A page of the journal or of the children: by key, starting after `after`.
export interface PageOptions {
  after?: string;
  limit?: number; // up to 1000; default 100
}

export interface Usage {
  model: string;
  inputTokens: number;
  outputTokens: number;
  cachedTokens?: number;
  usd?: string; // the cost; default: from the price file
}

export interface Question {
  key: string;
  question: string;
  choices?: string[];
  answer?: string; // absent until it is answered
  askedAt: string;
  answeredAt?: string;
}

export type LogLevel = "debug" | "info" | "warning" | "error";

const NAMES = new Map<string, string>(); // the API's members: a few dozen

function camelCase(name: string): string {
  let camel = NAMES.get(name);
  if (camel === undefined) NAMES.set(name, (camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())));
  return camel;
}

// Only the outermost names: the content of results and metadata belongs to the agent.
export function fromWire<T>(object: object): T {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(object)) out[camelCase(name)] = value;
  return out as T;
}
