// Measures journaled steps per second through Pawl's TypeScript SDK and Restate's, in turns: steps.mjs SOCKET INGRESS ADMIN PORT
import { connect } from "@pawl/sdk";

// Restate's SDK needs Node.js 22, which has this function.
Promise.withResolvers ??= () => {
  let resolve, reject;
  const promise = new Promise((done, failed) => { resolve = done; reject = failed; });
  return { promise, resolve, reject };
};
const restate = await import("@restatedev/restate-sdk");

const ROUNDS = 5;
const [socket, ingress, admin, port] = process.argv.slice(2);
const result = async () => ({ ok: true, text: "done" });

const pawl = connect({ socket });
let conversations = 0;
async function ours(steps) {
  const name = `c${conversations++}`;
  for (let i = 0; i < steps; i++) await pawl.step(`${name}-${i}`, { kind: "effect" }, { i }, result);
}

const service = restate.service({
  name: "bench",
  handlers: { steps: async (ctx, steps) => { for (let i = 0; i < steps; i++) await ctx.run("step", result); } },
});
await restate.serve({ services: [service], port: Number(port), logger: () => {} });
async function post(url, body) {
  const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}
await post(`${admin}/deployments`, { uri: `http://127.0.0.1:${port}` });
const theirs = (steps) => post(`${ingress}/bench/steps`, steps);

async function perSecond(verb, inFlight, steps) {
  const started = performance.now();
  await Promise.all(Array.from({ length: inFlight }, () => verb(steps)));
  return (inFlight * steps * 1000) / (performance.now() - started);
}

const rates = {};
for (const [inFlight, steps] of [[1, 500], [64, 60]]) {
  const found = (rates[inFlight] = { pawl: [], restate: [] });
  for (const verb of [ours, theirs]) await perSecond(verb, inFlight, 20);
  for (let round = 0; round < ROUNDS; round++) {
    found.pawl.push(await perSecond(ours, inFlight, steps));
    found.restate.push(await perSecond(theirs, inFlight, steps));
  }
}
console.log(JSON.stringify(rates));
process.exit(0);
