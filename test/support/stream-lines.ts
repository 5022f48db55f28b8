import { type ShownEvent, writeEventLine } from '../../src/tools/inspect/view/event-lines.ts';

/** The events of a stream's text; comments and `[DONE]` left out. */
export function eventsOf(stream: string): ShownEvent[] {
  const data = stream.split('\n').filter((line) => line.startsWith('data: {'));
  return data.map((line) => JSON.parse(line.slice('data: '.length)) as ShownEvent);
}

/** A stream as lines that a reader can follow. */
export function eventLines(stream: string): string[] {
  const lines: string[] = [];
  for (const block of stream.split('\n\n')) {
    if (block === '') continue;
    const data = block.split('\n').find((line) => line.startsWith('data: {'));
    if (data === undefined) lines.push(block.replace(/^data: /, ''));
    else lines.push(writeEventLine(JSON.parse(data.slice('data: '.length)) as ShownEvent));
  }
  return lines;
}

/** Reads a stream of events until the text appears; gives the rest to read on. */
export async function readUntil(response: Response, text: string): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  for (let seen = ''; !seen.includes(text); ) {
    const { value, done: ended } = await reader.read();
    if (ended) throw new Error(`the stream ended without ${text}: ${seen}`);
    seen += decoder.decode(value, { stream: true });
  }
  return reader;
}
