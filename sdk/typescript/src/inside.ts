// The step or child from which a call is made, however many promises lie between.
import { AsyncLocalStorage } from "node:async_hooks";

interface Inside {
  episode: string;
  what: "step" | "child";
  name: string; // the step's key, or the child's id
}

interface Around extends Inside {
  child: string; // the innermost child's id; "": outside all children
  depth: number; // the number of children around
}

const current = new AsyncLocalStorage<Around>();

function around(episode: string): Around | undefined {
  const inside = current.getStore();
  return inside?.episode === episode ? inside : undefined;
}

export function runInside<T>(inside: Inside, run: () => Promise<T> | T): Promise<T> | T {
  const { child, depth } = around(inside.episode) ?? { child: "", depth: 0 };
  return current.run(inside.what === "child" ? { ...inside, child: inside.name, depth: depth + 1 } : { ...inside, child, depth }, run);
}

// The id of the running code: `{role}-{depth}`. Inside a child it is the child's id, and a role's id is below it.
export function checkpointId(episode: string, role: string | undefined): string {
  const { child, depth } = around(episode) ?? { child: "", depth: 0 };
  if (role === undefined && child !== "") return child;
  return `${child === "" ? "" : `${child}/`}${role ?? "main"}-${depth}`;
}

// Throws where the next process may count another spawn of `parent`. A step or a child that is answered from the
// journal does not spawn again, so the places of all later spawns would shift.
export function countHere(episode: string, parent: string): void {
  const inside = around(episode);
  if (inside === undefined) return;
  if (inside.what === "child" && `${parent}/`.startsWith(`${inside.name}/`)) return;
  throw new Error(`children of ${parent} are not counted inside of the ${inside.what} ${inside.name}, which does not run again when it ` +
    "is done. Spawn them outside of it, or name the place: pawl.child(parent, spawnSeq, ordinal, spec, run), with a parent that is " +
    "not counted elsewhere");
}
