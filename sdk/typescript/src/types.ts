// What goes over the socket, with this language's spelling of names.

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
  stop: boolean; // a cap is reached: save what you have and end
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
  session: number; // 1 for the first process that asked in this episode
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
  payload?: Uint8Array; // in a list that was asked for with payload
}

export interface CheckpointPage {
  checkpoints: Checkpoint[]; // newest first
  more: boolean;
}

export interface Loaded {
  payload: Uint8Array;
  checkpoint: Checkpoint;
  json<T = Json>(): T;
}

export interface SaveOptions {
  metadata?: { [key: string]: Json }; // its numbers are integers
  spent?: Spent; // what was spent up to here; without it what was told to usage(), and the time since the start
  keep?: number; // how many of this id are left at most: 5 without it, 0 for all
}

export interface ListOptions {
  prefix?: string;
  id?: string; // exactly this one instead of a prefix
  before?: number; // seq: only older ones
  limit?: number; // up to 1000; 100 without it
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

// Of the journal and of the children: by key, from the one behind `after`.
export interface PageOptions {
  after?: string;
  limit?: number; // up to 1000; 100 without it
}

export interface Usage {
  model: string;
  inputTokens: number;
  outputTokens: number;
  cachedTokens?: number;
  usd?: string; // what it cost; without it the price file says
}

export interface Question {
  key: string;
  question: string;
  choices?: string[];
  answer?: string; // absent while there is none
  askedAt: string;
  answeredAt?: string;
}

export type LogLevel = "debug" | "info" | "warning" | "error";

const NAMES = new Map<string, string>(); // of the API's members: a few dozen

function camelCase(name: string): string {
  let camel = NAMES.get(name);
  if (camel === undefined) NAMES.set(name, (camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())));
  return camel;
}

// Only the outermost names: what is inside of results and metadata is the agent's.
export function fromWire<T>(object: object): T {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(object)) out[camelCase(name)] = value;
  return out as T;
}
