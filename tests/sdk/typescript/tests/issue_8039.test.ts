// langgraph issue 8039: of two branches of one step, one has a side effect and the other fails or asks a person.
// Which of them the scheduler lets end first decides whether the effect's writes are saved; when they are not,
// the effect happens again on resume. Journaled it happens once, whatever the order.
import { Annotation, Command, END, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { PawlSaver } from "@pawl/langgraph";
import { expect, test } from "vitest";

import { freshEpisode } from "./support.js";

type Order = "the effect first" | "the other first";
type Other = "fails" | "asks";

const State = Annotation.Root({ done: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }) });

interface World {
  payments: number;
  tries: number;
  order: Order;
  other: Other;
  paid: Promise<void>;
  setPaid: () => void;
  ended: Promise<void>; // resolved when the other branch's first try ends
  setEnded: () => void;
}

function world(order: Order, other: Other): World {
  const [paid, setPaid] = signal();
  const [ended, setEnded] = signal();
  return { payments: 0, tries: 0, order, other, paid, setPaid, ended, setEnded };
}

function signal(): [Promise<void>, () => void] {
  let set!: () => void;
  return [new Promise((resolve) => (set = resolve)), set];
}

async function pay(here: World): Promise<string> {
  if (here.order === "the other first" && here.payments === 0) await here.ended;
  here.payments += 1;
  return `payment ${here.payments}`;
}

async function checkOnce(here: World): Promise<{ done: string[] }> {
  here.tries += 1;
  if (here.tries > 1 && here.other === "fails") return { done: ["checked"] };
  if (here.tries === 1 && here.order === "the effect first") await here.paid;
  // Set when the graph has seen how this ended, for the branch that waits for it.
  if (here.tries === 1) setTimeout(here.setEnded, 20);
  if (here.other === "fails") throw new Error("the other branch fails");
  return { done: [interrupt("sure?") as string] };
}

function graphOf(here: World, checkpointer: BaseCheckpointSaver, payStep: () => Promise<string>) {
  return new StateGraph(State)
    .addNode("pay", async () => {
      const paid = await payStep();
      setTimeout(here.setPaid, 20);
      return { done: [paid] };
    })
    .addNode("check", () => checkOnce(here))
    .addEdge(START, "pay").addEdge(START, "check").addEdge("pay", END).addEdge("check", END)
    .compile({ checkpointer });
}

const CASES: [Order, Other][] = [
  ["the effect first", "fails"], ["the other first", "fails"], ["the effect first", "asks"], ["the other first", "asks"],
];

async function runTwice(here: World, open: () => ReturnType<typeof graphOf>): Promise<string[]> {
  const config = { configurable: { thread_id: "order" } };
  const first = open().invoke({ done: [] }, config);
  if (here.other === "fails") await expect(first).rejects.toThrow("the other branch fails");
  else await first;
  // Another process: what the first did not save is not there. (Its branch that still runs ends meanwhile.)
  await Promise.all([here.paid, here.ended]);
  const { done } = await open().invoke(here.other === "asks" ? new Command({ resume: "checked" }) : null, config);
  return done;
}

test.each(CASES)("%s, the other %s: journaled, the effect happens once", async (order, other) => {
  const here = world(order, other);
  const episode = freshEpisode();
  const done = await runTwice(here, () => {
    const saver = new PawlSaver(episode);
    return graphOf(here, saver, () => saver.pawl.step("pay", { kind: "effect" }, { amount: 5 }, () => pay(here)));
  });
  expect(here.payments).toBe(1);
  expect(done.sort()).toEqual(["checked", "payment 1"]);
});

// The control: without a journal the order decides. Writes that were saved are honoured by PawlSaver as by MemorySaver.
test.each(CASES)("%s, the other %s: without a journal PawlSaver does what MemorySaver does", async (order, other) => {
  const counts: number[] = [];
  const memory = new MemorySaver();
  const episode = freshEpisode();
  for (const open of [() => memory, () => new PawlSaver(episode)]) {
    const here = world(order, other);
    await runTwice(here, () => graphOf(here, open(), () => pay(here)));
    counts.push(here.payments);
  }
  expect(counts[1]).toBe(counts[0]);
  if (order === "the effect first") expect(counts).toEqual([1, 1]);
  if (order === "the other first" && other === "fails") expect(counts).toEqual([2, 2]);
});
