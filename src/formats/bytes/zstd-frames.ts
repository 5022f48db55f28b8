/** zstd's decoder takes this much memory, however small the window is. */
const minWindowBytes = 128 * 1024;
/** A window of zstd is at most 8 MiB in a content coding (RFC 9659). */
export const maxZstdWindowLog = 23;

const frameMagic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;
/** Bytes of the fields of a frame's header, by the bits of its descriptor (RFC 8878 §3.1.1.1.1). */
const dictionaryIdBytes = [0, 1, 2, 4];
const contentSizeBytes = [0, 2, 4, 8];

/** Finds the ends of zstd frames in a body that comes in pieces: Node decodes only the first frame of a piece (nodejs/node#64741). */
export class ZstdFrames {
  /** The largest window that a frame so far asks for. */
  windowBytes = 0;
  /** What comes after `#left` bytes: the header of a frame or of a block, or the end of the frame; `foreign`: this is no zstd. */
  #next: 'frame' | 'block' | 'end' | 'foreign' = 'frame';
  #left = 0;
  #head: number[] = [];
  #checksumBytes = 0;

  /** Returns the offset behind the frame to which the byte at `from` belongs, or the end of the piece. */
  endOfFrame(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && this.#next !== 'foreign') {
      if (this.#left > 0) {
        const step = Math.min(this.#left, bytes.length - at);
        this.#left -= step;
        at += step;
      } else {
        this.#head.push(bytes[at] ?? 0);
        at += 1;
        if (this.#next === 'frame') this.#readFrame(this.#head);
        else this.#readBlock(this.#head);
      }
      if (this.#left > 0 || this.#next !== 'end') continue;
      this.#next = 'frame';
      return at;
    }
    return bytes.length;
  }

  #readFrame(head: readonly number[]): void {
    if (head.length < 5) return;
    const magic = readNumber(head, 0, 4);
    if (magic >= skippableMagic && magic < skippableMagic + 16) {
      if (head.length === 8) this.#go('end', readNumber(head, 4, 4));
      return;
    }
    if (magic !== frameMagic) {
      this.#go('foreign', 0);
      return;
    }
    const descriptor = head[4] ?? 0;
    const isSingleSegment = (descriptor & 0x20) !== 0;
    const idAt = isSingleSegment ? 5 : 6;
    const sizeAt = idAt + (dictionaryIdBytes[descriptor & 3] ?? 0);
    const sizeBytes = contentSizeBytes[descriptor >> 6] || (isSingleSegment ? 1 : 0);
    if (head.length < sizeAt + sizeBytes) return;
    const size = readNumber(head, sizeAt, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
    const window = isSingleSegment ? size : readWindow(head[5] ?? 0);
    this.windowBytes = Math.max(this.windowBytes, minWindowBytes, Math.min(window, 1 << maxZstdWindowLog));
    this.#checksumBytes = (descriptor & 4) === 0 ? 0 : 4;
    this.#go('block', 0);
  }

  #readBlock(head: readonly number[]): void {
    if (head.length < 3) return;
    const header = readNumber(head, 0, 3);
    const isLast = (header & 1) === 1;
    const isRepeatedByte = ((header >> 1) & 3) === 1;
    const bytes = isRepeatedByte ? 1 : header >> 3;
    if (isLast) this.#go('end', bytes + this.#checksumBytes);
    else this.#go('block', bytes);
  }

  #go(next: 'block' | 'end' | 'foreign', left: number): void {
    this.#next = next;
    this.#left = left;
    this.#head = [];
  }
}

/** Reads the size of the window from a window descriptor (RFC 8878 §3.1.1.1.2). */
function readWindow(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

/** Reads a little-endian number of `count` bytes. */
function readNumber(bytes: readonly number[], start: number, count: number): number {
  return bytes.slice(start, start + count).reduceRight((sum, byte) => sum * 256 + byte, 0);
}
