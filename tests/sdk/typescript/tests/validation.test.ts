// LangGraph's own validation of checkpointers, in full. Its command line does not start; this calls what it calls.
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { PawlSaver } from "@pawl/langgraph";

import { freshEpisode } from "./support.js";

const initializer = {
  checkpointerName: "@pawl/langgraph",
  createCheckpointer: () => new PawlSaver(freshEpisode()),
};

validate(initializer);
deltaChannelHistoryTests(initializer);
