// Errors, one class per reaction of the caller. `type` is the urn of docs/agent-api.yaml, or one of this package's
// own if no server answered.

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
}

export class PawlError extends Error {
  readonly type: string;
  readonly title: string;
  readonly status: number; // HTTP status; 0: no server answered
  readonly detail: string;

  constructor(problem: Problem, options?: ErrorOptions) {
    super(`${problem.title}: ${problem.detail}`, options);
    this.name = new.target.name;
    this.type = problem.type;
    this.title = problem.title;
    this.status = problem.status;
    this.detail = problem.detail;
  }
}

export class InvalidError extends PawlError {}
export class ForeignError extends PawlError {} // the socket belongs to another goal or episode
export class NotFoundError extends PawlError {}
export class ConflictError extends PawlError {}
export class TooLargeError extends PawlError {}
export class TooManyError extends PawlError {}
export class CorruptError extends PawlError {}
export class NoSpaceError extends PawlError {}

// No server listens on the socket, or the server went away (or responded 503) and did not come back in time.
export class UnavailableError extends PawlError {
  static of(detail: string, cause?: unknown): UnavailableError {
    return new UnavailableError({ type: "urn:pawl:unavailable", title: "Pawl does not answer", status: 0, detail }, { cause });
  }
}

// An earlier process used the same step (or place of a child) with other arguments. The program has changed since it
// wrote the journal, or its keys depend on something that changes.
export class DeterminismError extends ConflictError {
  readonly key: string;
  readonly recordedHash: string; // the hash of the arguments in the journal
  readonly givenHash: string;

  constructor(key: string, recordedHash: string, givenHash: string, problem?: Problem) {
    super(problem ?? {
      type: "urn:pawl:conflict",
      title: "Other arguments under the same key",
      status: 409,
      detail: `${key} runs in this very process with arguments of hash ${recordedHash}, and was asked for with ${givenHash}. ` +
        "Give each step a key of its own",
    });
    this.key = key;
    this.recordedHash = recordedHash;
    this.givenHash = givenHash;
  }
}

// A process that is gone began the step, its outcome is unknown, and it must not run again.
export class StepLostError extends PawlError {
  readonly key: string;

  constructor(key: string) {
    super({
      type: "urn:pawl:step-lost",
      title: "A step was lost",
      status: 0,
      detail: `${key} was begun by a process that is gone, and its policy is to fail. Find out whether it happened, ` +
        "then go on under another key",
    });
    this.key = key;
  }
}

// A person was asked, and did not answer in the given time.
export class UnansweredError extends PawlError {
  readonly key: string;

  constructor(key: string, question: string) {
    super({
      type: "urn:pawl:unanswered",
      title: "No answer yet",
      status: 0,
      detail: `a person is asked: ${question} (\`pawl answer\` answers question ${key})`,
    });
    this.key = key;
  }
}

const CLASSES: Record<string, new (problem: Problem) => PawlError> = {
  "urn:pawl:invalid": InvalidError,
  "urn:pawl:foreign": ForeignError,
  "urn:pawl:not-found": NotFoundError,
  "urn:pawl:method": InvalidError,
  "urn:pawl:conflict": ConflictError,
  "urn:pawl:too-large": TooLargeError,
  "urn:pawl:too-many": TooManyError,
  "urn:pawl:corrupt": CorruptError,
  "urn:pawl:unavailable": UnavailableError,
  "urn:pawl:no-space": NoSpaceError,
};

export function errorOf(status: number, body: Buffer): PawlError {
  let problem: Problem;
  try {
    const { type, title, detail } = JSON.parse(body.toString()) as Problem;
    problem = { type: String(type), title: String(title), status, detail: String(detail) };
  } catch {
    problem = { type: "about:blank", title: `HTTP ${status}`, status, detail: body.toString("utf8", 0, 500) };
  }
  return new (CLASSES[problem.type] ?? PawlError)(problem);
}

// A conflict names both hashes: the one that is not `given` is the recorded one.
export function determinismErrorOf(key: string, given: string, error: unknown): unknown {
  if (!(error instanceof ConflictError)) return error;
  const recorded = (error.detail.match(/\b[0-9a-f]{64}\b/g) ?? []).find((hash) => hash !== given);
  if (recorded === undefined) return error;
  return new DeterminismError(key, recorded, given, error);
}
