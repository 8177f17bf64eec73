// The agent's interface to Pawl, over the Unix socket that PAWL_SOCKET names (docs/agent-api.yaml).
//
//   const pawl = connect();
//   const before = await pawl.load("coder-0");
//   const reply = await pawl.step("ask-model-1", { kind: "effect" }, { prompt }, () => model(prompt));
//   await pawl.save("coder-0", { turn: 1, reply });
//
// A write is durable when its promise resolves: a kill -9 after that loses nothing of it.
export { Children, type ChildRun, type ChildSpec } from "./children.js";
export { argsHash, canonicalJson } from "./canonical.js";
export {
  ConflictError, CorruptError, DeterminismError, ForeignError, InvalidError, NoSpaceError, NotFoundError, PawlError,
  StepLostError, TooLargeError, TooManyError, UnansweredError, UnavailableError, type Problem,
} from "./errors.js";
export type { StepOptions } from "./journal.js";
export { connect, Pawl, type ConnectOptions } from "./pawl.js";
export type {
  Budget, Caps, Checkpoint, CheckpointPage, Child, ChildPage, Context, Fingerprint, Json, ListOptions, Loaded, LogLevel, PageOptions,
  Question, SaveOptions, Spent, Step, StepPage, Usage,
} from "./types.js";
