// A graph that drafts a note, asks a person, and writes it down. Kill it at any moment and start it again: it goes
// on where it was, and no call of the model is paid twice.
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { PawlSaver } from "@pawl/langgraph";

const saver = PawlSaver.fromEnv();
const { pawl } = saver;
const context = await pawl.context();
const workspace = process.env.WORKSPACE ?? process.cwd();

const State = Annotation.Root({ goal: Annotation(), draft: Annotation(), answer: Annotation() });

// Where a model would be called, and paid. The file is how the example's test counts the calls.
function callModel(goal) {
  if (process.env.MODEL_CALLS) appendFileSync(process.env.MODEL_CALLS, "called\n");
  return { text: `A note about: ${goal}`, input_tokens: 12, output_tokens: 6 };
}

async function draft({ goal }) {
  const reply = await pawl.step("draft", { kind: "effect", onLost: "re_execute" }, { goal }, () => callModel(goal));
  await pawl.usage("draft", { model: context.model || "example", inputTokens: reply.input_tokens, outputTokens: reply.output_tokens });
  return { draft: reply.text };
}

function review({ draft }) {
  return { answer: interrupt(`Keep this? ${draft}`) };
}

const graph = new StateGraph(State)
  .addNode("draft_note", draft).addNode("review", review)
  .addEdge(START, "draft_note").addEdge("draft_note", "review").addEdge("review", END)
  .compile({ checkpointer: saver });

const config = { configurable: { thread_id: context.goalId }, durability: "sync" };
const before = await graph.getState(config);
const begun = Object.keys(before.values).length > 0;
console.log(begun ? `resumed before ${before.next.join(", ") || "the end"}` : "started");

await graph.invoke(begun ? null : { goal: context.goal || "checkpoints" }, config);
for (;;) {
  const asking = (await graph.getState(config)).tasks.flatMap((task) => task.interrupts)[0];
  if (asking === undefined) break;
  // The graph's interrupt is a question to a person: `pawl answer` answers it, to this process or to a later one.
  const key = `interrupt-${asking.id}`;
  console.log(`asking ${key}`);
  const answer = await pawl.ask(key, asking.value, { choices: ["yes", "no"] });
  await graph.invoke(new Command({ resume: answer }), config);
}

// Not a node: a process that goes on finds a fresh workspace, and no node that is done is done again.
const { draft: text, answer } = (await graph.getState(config)).values;
writeFileSync(join(workspace, "note.txt"), answer === "yes" ? `${text}\n` : "nothing was kept\n");
console.log("done");
