import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";

// Writes and reads what LangGraph's own serializer does. A value without a revived object in it, which most are,
// is read by JSON.parse alone: the reviver makes a promise for each value, and takes some thirty times as long.
export class PlainSerializer extends JsonPlusSerializer {
  override async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    if (type !== "json") return super.loadsTyped(type, data);
    const text = typeof data === "string" ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
    return text.includes('"lc"') ? super.loadsTyped(type, text) : JSON.parse(text);
  }
}
