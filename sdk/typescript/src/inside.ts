// Which step or child a call is made from, however many promises lie between.
import { AsyncLocalStorage } from "node:async_hooks";

interface Inside {
  episode: string;
  what: "step" | "child";
  name: string; // the step's key, or the child's id
}

const current = new AsyncLocalStorage<Inside>();

export function runInside<T>(inside: Inside, run: () => Promise<T> | T): Promise<T> | T {
  return current.run(inside, run);
}

// Refuses to count a spawn of `parent` where the next process may count another one: a step that is answered from
// the journal spawns nothing, nor does a child, and the places of all later spawns would shift.
export function countHere(episode: string, parent: string): void {
  const inside = current.getStore();
  if (inside === undefined || inside.episode !== episode) return;
  if (inside.what === "child" && `${parent}/`.startsWith(`${inside.name}/`)) return;
  throw new Error(`children of ${parent} are not counted inside of the ${inside.what} ${inside.name}, which does not run again when it ` +
    "is done. Spawn them outside of it, or name the place: pawl.child(parent, spawnSeq, ordinal, spec, run), with a parent that is " +
    "not counted elsewhere");
}
