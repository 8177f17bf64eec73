// Begins the step "lost" and never ends it: hang.mjs KIND [ON_LOST]
import { connect } from "@pawl/sdk";

const [kind, onLost] = process.argv.slice(2);
const stay = setInterval(() => undefined, 60_000);
await connect().step("lost", { kind, ...(onLost && { onLost }) }, {}, () => {
  console.log("begun");
  return new Promise(() => stay);
});
