// Checkpoints of LangGraph.js in Pawl:
//
//   const graph = builder.compile({ checkpointer: PawlSaver.fromEnv() });
export { PawlSaver, type PawlSaverOptions } from "./saver.js";
export { PlainSerializer } from "./serializer.js";
