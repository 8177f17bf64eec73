// Children of one parent. Their places are counted in the order of the calls, which a restarted program repeats. So
// each child, also one of twins, finds its own checkpoints and result. A step or a child that is answered from the
// journal does not repeat its calls. Therefore a spawn inside a step throws, and so does a spawn inside a child for a
// parent outside that child.
import { argsHash, plainJson } from "./canonical.js";
import { JSON_BODY, type Connection } from "./connection.js";
import { determinismErrorOf } from "./errors.js";
import { countHere, runInside } from "./inside.js";
import type { Json } from "./types.js";

export interface ChildRun {
  id: string; // its checkpoint_id: `{parent}/{spawn_seq}.{ordinal}`
  resumed: boolean; // an earlier process has spawned it, and it has not finished: look for its checkpoint
}

export interface ChildSpec<T> {
  spec: unknown; // the task of the child, as plain data
  run: (child: ChildRun) => Promise<T> | T;
}

interface Spawned {
  child_id: string;
  answer: "start" | "resume" | "done";
  result?: Json;
}

// The result of the child at this place, from its run or from the journal.
export async function runChild<T>(connection: Connection, parent: string, spawnSeq: number, ordinal: number,
                                  { spec, run }: ChildSpec<T>): Promise<T> {
  const hash = argsHash(spec);
  const place = { parent, spawn_seq: spawnSeq, ordinal, spec_hash: hash };
  const { child_id: id, ...spawned } = await connection.postFor<Spawned>("/v1/children/spawn", place).catch((error: unknown) => {
    throw determinismErrorOf(`${parent}/${spawnSeq}.${ordinal}`, hash, error);
  });
  if (spawned.answer === "done") return spawned.result as T;
  const inside = { episode: connection.episode, what: "child", name: id } as const;
  const result = await runInside(inside, () => run({ id, resumed: spawned.answer === "resume" }));
  const text = plainJson(result, `the result of the child ${id}`);
  await connection.ask({
    method: "POST", path: "/v1/children/finish", body: `{"child_id":${JSON.stringify(id)},"result":${text}}`, headers: JSON_BODY,
  });
  return JSON.parse(text) as T;
}

export class Children {
  readonly parent: string;
  private readonly connection: Connection;
  private nextSpawn = 0;

  constructor(connection: Connection, parent: string) {
    this.connection = connection;
    this.parent = parent;
  }

  // Runs one child. Returns its result, from its run or from the journal.
  async spawn<T>(spec: unknown, run: (child: ChildRun) => Promise<T> | T): Promise<T> {
    return runChild(this.connection, this.parent, this.next(), 0, { spec, run });
  }

  // Runs several children as one spawn; their ordinals follow the order of the array.
  async spawnAll<T>(children: ChildSpec<T>[]): Promise<T[]> {
    const spawnSeq = this.next();
    return Promise.all(children.map((child, ordinal) => runChild(this.connection, this.parent, spawnSeq, ordinal, child)));
  }

  private next(): number {
    countHere(this.connection.episode, this.parent);
    return this.nextSpawn++;
  }
}
