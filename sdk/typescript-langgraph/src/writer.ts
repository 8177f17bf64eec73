// Appends bytes in memory that was used before. The kernel needs longer for the first use of a page than this code
// needs to write to it.
import type { Texts } from "./texts.js";

const BYTES_MIN = 64 * 1024;
const KEPT_BYTES_MAX = 8 * 1024 * 1024;
const UTF8_BYTES_MAX = 3; // for a UTF-16 code unit of a string

let kept: Buffer | undefined; // for the next writer

export class Writer {
  private bytes: Buffer;
  private end = 0;

  constructor() {
    this.bytes = kept ?? Buffer.allocUnsafeSlow(BYTES_MIN);
    kept = undefined;
  }

  // From now on the written bytes may be overwritten. A caller whose bytes may still be read omits the call; then the
  // next writer only cannot reuse the memory.
  release(): void {
    if (this.bytes.length <= KEPT_BYTES_MAX) kept = this.bytes;
  }

  written(): Uint8Array {
    return this.bytes.subarray(0, this.end);
  }

  // Appends `value`, and returns its number of bytes.
  add(value: Uint8Array | string | Texts): number {
    const begin = this.end;
    if (typeof value === "string") this.text(value);
    else if (value instanceof Uint8Array) {
      this.reserve(value.length);
      this.bytes.set(value, this.end);
      this.end += value.length;
    } else {
      value.texts.forEach((text, i) => {
        this.withLength(value.json[i]!);
        this.withLength(text);
      });
      this.withLength(value.json.at(-1)!);
    }
    return this.end - begin;
  }

  uint32(value: number): void {
    this.reserve(4);
    this.end = this.bytes.writeUInt32LE(value, this.end);
  }

  private withLength(text: string): void {
    const begin = this.end;
    this.uint32(0);
    this.text(text);
    this.bytes.writeUInt32LE(this.end - begin - 4, begin);
  }

  private text(text: string): void {
    // Counting the bytes takes as long as writing them.
    if (this.end + text.length * UTF8_BYTES_MAX > this.bytes.length) this.reserve(Buffer.byteLength(text));
    this.end += this.bytes.write(text, this.end);
  }

  private reserve(count: number): void {
    const least = this.end + count;
    if (least <= this.bytes.length) return;
    const more = Buffer.allocUnsafeSlow(Math.max(least, this.bytes.length * 2));
    this.bytes.copy(more, 0, 0, this.end);
    this.bytes = more;
  }
}
