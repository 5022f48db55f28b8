import { blockOf, type GoldenCase } from './golden.ts';

/** The bytes an upstream sends in a case: from its `chunks upstream`, `sse upstream` or `text upstream` block. */
export function upstreamOf(golden: GoldenCase): Buffer {
  const chunks = blockOf(golden, 'upstream');
  const language = golden.blocks.find(({ name }) => name === 'upstream')?.language;
  if (chunks !== null) return Buffer.from(language === 'chunks' ? sseOfChunks(chunks) : `${chunks}\n`);
  const escaped = blockOf(golden, 'upstream escaped');
  if (escaped === null) throw new Error(`${golden.where}: no upstream block`);
  return bytesOf(escaped);
}

/** Bytes where line ends matter: the block's own line ends are left out, `\r`, `\n` and `\xEF` are written, `\\` is a backslash. */
function bytesOf(notation: string): Buffer {
  const pieces = notation.replaceAll('\n', '').split(/(\\x[0-9a-fA-F]{2}|\\[rn\\])/);
  return Buffer.concat(
    pieces.map((piece) => {
      if (piece.startsWith('\\x')) return Buffer.from(piece.slice(2), 'hex');
      return Buffer.from(piece === '\\r' ? '\r' : piece === '\\n' ? '\n' : piece === '\\\\' ? '\\' : piece);
    }),
  );
}

/**
 * The short notation for an upstream's chunks, one per line:
 *
 *     delta {"content":"Hi"}               a chunk with this delta, and a finish_reason if `finish stop` follows
 *     finish stop                          a chunk with an empty delta and this finish_reason
 *     usage 3 2                            the last chunk: no choices, 3 prompt and 2 completion tokens
 *     {"choices":[],"x_groq":{…}}          any other chunk, as it is
 *     [DONE]
 *
 * Each becomes `data: …` and a blank line.
 */
function sseOfChunks(notation: string): string {
  return notation
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => `data: ${dataOf(line.trim())}\n\n`)
    .join('');
}

function dataOf(line: string): string {
  const [, delta, reason] = /^delta (\{.*?\})(?: finish (\S+))?$/.exec(line) ?? [];
  if (delta !== undefined) {
    JSON.parse(delta);
    const finish = reason === undefined ? '' : `,"finish_reason":"${reason}"`;
    return `{"choices":[{"index":0,"delta":${delta}${finish}}]}`;
  }
  const [word, first, second] = line.split(' ');
  switch (word) {
    case 'finish':
      return `{"choices":[{"index":0,"delta":{},"finish_reason":"${first}"}]}`;
    case 'usage':
      return `{"choices":[],"usage":{"prompt_tokens":${first},"completion_tokens":${second}}}`;
    case '[DONE]':
      return line;
  }
  JSON.parse(line);
  return line;
}
