// Children of one parent. Their places are counted in the order of the calls, which a program that is started
// again repeats; so each child finds its own checkpoints and result, twins too.
import { argsHash, plainJson } from "./canonical.js";
import { JSON_BODY, type Connection } from "./connection.js";
import { determinismErrorOf } from "./errors.js";
import type { Json } from "./types.js";

export interface ChildRun {
  id: string; // its checkpoint_id: `{parent}/{spawn_seq}.{ordinal}`
  resumed: boolean; // a process before has spawned it, and it has not finished: look for its checkpoint
}

export interface ChildSpec<T> {
  spec: unknown; // what the child is to do, as plain data
  run: (child: ChildRun) => Promise<T> | T;
}

interface Spawned {
  child_id: string;
  answer: "start" | "resume" | "done";
  result?: Json;
}

export class Children {
  readonly parent: string;
  private readonly connection: Connection;
  private nextSpawn = 0;

  constructor(connection: Connection, parent: string) {
    this.connection = connection;
    this.parent = parent;
  }

  // One child. Its result, from its run or from the journal.
  spawn<T>(spec: unknown, run: (child: ChildRun) => Promise<T> | T): Promise<T> {
    return this.runChild(this.nextSpawn++, 0, { spec, run });
  }

  // Several that belong together: one spawn, ordinals in the order of the array.
  spawnAll<T>(children: ChildSpec<T>[]): Promise<T[]> {
    const spawnSeq = this.nextSpawn++;
    return Promise.all(children.map((child, ordinal) => this.runChild(spawnSeq, ordinal, child)));
  }

  private async runChild<T>(spawnSeq: number, ordinal: number, { spec, run }: ChildSpec<T>): Promise<T> {
    const hash = argsHash(spec);
    const place = { parent: this.parent, spawn_seq: spawnSeq, ordinal, spec_hash: hash };
    const spawned = await this.connection.postFor<Spawned>("/v1/children/spawn", place).catch((error: unknown) => {
      throw determinismErrorOf(`${this.parent}/${spawnSeq}.${ordinal}`, hash, error);
    });
    if (spawned.answer === "done") return spawned.result as T;
    const result = await run({ id: spawned.child_id, resumed: spawned.answer === "resume" });
    const text = plainJson(result, `the result of the child ${spawned.child_id}`);
    await this.connection.ask({
      method: "POST", path: "/v1/children/finish", body: `{"child_id":${JSON.stringify(spawned.child_id)},"result":${text}}`,
      headers: JSON_BODY,
    });
    return JSON.parse(text) as T;
  }
}
