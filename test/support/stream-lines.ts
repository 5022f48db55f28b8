import { lineOf, type ShownEvent } from '../../src/tools/inspect/view/event-lines.ts';

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
    else lines.push(lineOf(JSON.parse(data.slice('data: '.length)) as ShownEvent));
  }
  return lines;
}
