// Measures puts and getTuples per second of three savers in turns, and prints a line of JSON for each: savers.mjs SOCKET POSTGRES_URL
// SQLITE_FILE
//
// Each put stores a conversation of messages of 1 KiB, with a new last message; `fresh` has only new messages. One checkpoint is in flight
// at a time, as in a graph; ATTENDED conversations at once are a separate figure.
import { randomBytes } from "node:crypto";

import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { PawlSaver } from "@pawl/langgraph";
import Database from "better-sqlite3";

const ROUNDS = 5;
const ROUND_MS = 400;  // of each of three savers, ten times five rounds: a minute
const ATTENDED = 8;
const META = { source: "loop", step: 0, parents: {} };
const [socket, postgresUrl, sqliteFile] = process.argv.slice(2);

const database = new Database(sqliteFile);
const savers = {
  pawl: new PawlSaver({ socket }),
  postgres: PostgresSaver.fromConnString(postgresUrl),
  sqlite: new SqliteSaver(database),
};
await savers.postgres.setup();
savers.sqlite.setup();
database.pragma("synchronous = FULL");

const message = () => randomBytes(768).toString("base64");

class Conversation {
  constructor(saver, thread, kib, fresh) {
    Object.assign(this, { saver, config: { configurable: { thread_id: thread, checkpoint_ns: "" } }, version: 0, fresh });
    this.latest = this.config;
    this.messages = Array.from({ length: kib }, message);
  }

  async put() {
    this.version += 1;
    this.messages = this.fresh ? this.messages.map(message) : [...this.messages.slice(0, -1), message()];
    const versions = { messages: this.version };
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(3), channel_values: { messages: this.messages }, channel_versions: versions };
    this.latest = await this.saver.put(this.latest, checkpoint, META, versions);
  }

  async get() {
    const tuple = await this.saver.getTuple(this.config);
    if (tuple.checkpoint.channel_values.messages.at(-1) !== this.messages.at(-1)) throw new Error("another conversation was read");
  }
}

async function perSecond(conversations, verb) {
  let count = 0;
  const started = performance.now();
  await Promise.all(conversations.map(async (conversation) => {
    while (performance.now() - started < ROUND_MS) {
      await conversation[verb]();
      count += 1;
    }
  }));
  return (count * 1000) / (performance.now() - started);
}

for (const [size, kib, fresh, attended] of [
  ["1kib", 1, false, 1], ["64kib", 64, false, 1], ["1mib", 1024, false, 1], ["1mib_fresh", 1024, true, 1], ["1kib_of_8", 1, false, ATTENDED],
]) {
  const talks = Object.fromEntries(Object.entries(savers).map(([name, saver]) =>
    [name, Array.from({ length: attended }, (_, i) => new Conversation(saver, `${size}-${i}`, kib, fresh))]));
  for (const verb of ["put", "get"]) {
    for (const name of Object.keys(savers)) for (const talk of talks[name]) await talk[verb]();
    const found = { pawl: [], postgres: [], sqlite: [] };
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of Object.keys(savers)) found[name].push(await perSecond(talks[name], verb));
    }
    console.log(JSON.stringify({ [`${verb}_${size}`]: found }));
  }
  for (const saver of Object.values(savers)) for (let i = 0; i < attended; i++) await saver.deleteThread(`${size}-${i}`);
}
await savers.postgres.end();
