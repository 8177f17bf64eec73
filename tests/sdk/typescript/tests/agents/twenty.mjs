// Twenty journaled steps, and a checkpoint behind each. Writes down what it does, durably: twenty.mjs FILE
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { connect } from "@pawl/sdk";

const file = openSync(process.argv[2], "a");
const tell = (line) => {
  writeSync(file, `${line}\n`);
  fsyncSync(file);
};
const pawl = connect();
const saved = (await pawl.load("agent-0"))?.json().step ?? -1;
tell(`loaded ${saved}`);
console.log("works");
for (let i = 0; i < 20; i++) {
  const { value } = await pawl.step(`step-${i}`, { kind: "effect", onLost: "re_execute" }, { i }, async () => {
    tell(`ran ${i}`);
    await sleep(4);
    return { value: `${i}.${process.pid}.${Math.random()}` };
  });
  tell(`completed ${i} ${value}`);
  if (i <= saved) continue;
  await pawl.save("agent-0", { step: i, value });
  tell(`saved ${i}`);
}
closeSync(file);
