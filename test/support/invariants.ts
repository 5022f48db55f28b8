/**
 * The rules of a Responses stream, checked on its text alone: framing, numbering, fields, grammar, and that every
 * `done` repeats its deltas. Written from the specification (Open Responses 2026-04-24, OpenAI's extra events, the
 * decisions in `docs/mapping.md`), independent of the code that wrote the stream: it imports nothing from `src`.
 */

import { fieldFaults, resourceFaults } from './invariants-fields.ts';
import { contentRules, type Fault, type Fields, isExtensionType, type OpenItem, place } from './invariants-items.ts';

/**
 * What is wrong with the stream, a line per fault; empty for a good one. With `extensions` it may have events named
 * `provider:type`, and its last Response fields that the API has not.
 */
export function faultsOfStream(stream: string, { extensions = false } = {}): string[] {
  const faults: string[] = [];
  const fault: Fault = (text) => faults.push(text);
  const events = framed(stream, fault);
  for (const [index, event] of events.entries()) {
    if (event['sequence_number'] !== index) fault(`event ${index} has sequence_number ${event['sequence_number']}`);
    for (const text of fieldFaults(event, extensions)) fault(`event ${index}: ${text}`);
  }
  checkOrder(events, extensions, fault);
  // Of an upstream's own events only their place is known.
  checkItems(
    events.filter(({ type }) => !isExtensionType(type)),
    fault,
  );
  return faults;
}

/** Splits the text into events; blocks are `event:` + `data:`, a comment, or at the very end `[DONE]`. */
function framed(stream: string, fault: Fault): Fields[] {
  const events: Fields[] = [];
  if (!stream.endsWith('data: [DONE]\n\n')) fault('the stream does not end with [DONE]');
  const blocks = stream.split('\n\n');
  if (blocks.pop() !== '') fault('the last block has no blank line after it');
  for (const [index, block] of blocks.entries()) {
    if (/^:[^\n]*$/.test(block)) continue;
    if (block === 'data: [DONE]') {
      if (index !== blocks.length - 1) fault('[DONE] is not the last block');
      continue;
    }
    const match = /^event: ([^\n\r]+)\ndata: ([^\n\r]+)$/.exec(block);
    if (match === null) {
      fault(`a block is not “event:” and “data:” alone: ${block.slice(0, 80)}`);
      continue;
    }
    const event = JSON.parse(match[2] ?? '') as Fields;
    if (event['type'] !== match[1]) fault(`“event: ${match[1]}” carries a ${event['type']}`);
    events.push(event);
  }
  return events;
}

const terminals = ['response.completed', 'response.incomplete', 'response.failed'];

function checkOrder(events: readonly Fields[], extensions: boolean, fault: Fault): void {
  if (events[0]?.['type'] !== 'response.created') fault('the first event is not response.created');
  if (events[1]?.['type'] !== 'response.in_progress') fault('the second event is not response.in_progress');
  for (const [index, event] of events.entries()) {
    const type = String(event['type']);
    if (index > 1 && /^response\.(created|in_progress)$/.test(type)) fault(`${type} comes again`);
    if (terminals.includes(type) && index !== events.length - 1) fault(`${type} is not the last event`);
    if (type === 'error' && events[index + 1]?.['type'] !== 'response.failed')
      fault('error without response.failed after it');
    if (type === 'response.failed' && events[index - 1]?.['type'] !== 'error')
      fault('response.failed without error before it');
  }
  const last = events.at(-1);
  if (last === undefined || !terminals.includes(String(last['type']))) fault('the stream has no terminal event');
  checkResources(
    events.filter(({ type }) => !isExtensionType(type)),
    extensions,
    fault,
  );
}

/** All snapshots are of one response; fields set by the request never change. */
function checkResources(events: readonly Fields[], extensions: boolean, fault: Fault): void {
  const snapshots = events.filter((event) => event['response'] !== undefined);
  const first = snapshots[0]?.['response'] as Fields | undefined;
  for (const { type, response } of snapshots as { type: string; response: Fields }[]) {
    for (const text of resourceFaults(type, response, extensions)) fault(`${type}: ${text}`);
    for (const key of ['id', 'created_at', 'instructions', 'tools', 'metadata'])
      if (JSON.stringify(response[key]) !== JSON.stringify(first?.[key]))
        fault(`${type}: ${key} changes within the stream`);
  }
  const error = events.find((event) => event['type'] === 'error');
  const failed = events.at(-1)?.['response'] as Fields | undefined;
  if (error !== undefined && (failed?.['error'] as Fields | null)?.['code'] !== error['code'])
    fault('error and response.failed differ in their code');
}

/** Items: which are open, what their deltas contained, and that the terminal response repeats it. */
function checkItems(events: readonly Fields[], fault: Fault): void {
  const items: OpenItem[] = [];
  const ids = new Set<unknown>();
  for (const event of events) {
    const type = String(event['type']);
    const index = event['output_index'];
    if (typeof index !== 'number') continue;
    if (type === 'response.output_item.added') {
      const item = event['item'] as Fields;
      if (index !== items.length) fault(`item ${item['id']} is added at ${index}, next is ${items.length}`);
      // A search that ran on the server has no call id.
      const itemIds = [item['id'], ...(item['execution'] === 'server' ? [] : [item['call_id']])];
      for (const id of itemIds.filter((value) => value !== undefined)) {
        if (typeof id !== 'string' || id === '' || ids.has(id)) fault(`id ${id} is empty or used twice`);
        ids.add(id);
      }
      for (const other of items) if (other.done === null) fault(`${place(event)} is added while ${other.id} is open`);
      items.push({
        id: String(item['id']),
        type: String(item['type']),
        start: item,
        parts: [],
        text: '',
        said: null,
        done: null,
        commands: [],
      });
      startFaults(item, fault);
      continue;
    }
    const item = items[index];
    if (item === undefined) fault(`${type} at ${index}, where no item is`);
    else if (item.done !== null) fault(`${type} at ${index} after its output_item.done`);
    else contentRules(event, item, fault);
  }
  checkOutput(events.at(-1)?.['response'] as Fields | undefined, items, fault);
}

/** An item starts empty. */
function startFaults(item: Fields, fault: Fault): void {
  if (item['type'] === 'compaction') return;
  if (item['status'] !== 'in_progress') fault(`${item['id']} is added with status ${item['status']}`);
  for (const key of ['content', 'summary'])
    if (item[key] !== undefined && (item[key] as unknown[]).length > 0) fault(`${item['id']} is added with ${key}`);
  for (const key of ['arguments', 'input'])
    if (typeof item[key] === 'string' && item[key] !== '') fault(`${item['id']} is added with ${key}`);
}

const callTypes = /_call$/;

function checkOutput(response: Fields | undefined, items: readonly OpenItem[], fault: Fault): void {
  const output = (response?.['output'] ?? []) as Fields[];
  const failed = response?.['status'] === 'failed';
  const isCut = failed && items.at(-1)?.done === null;
  if (isCut) checkCut(items.at(-1), output[items.length - 1], fault);
  // What follows a call that was cut off is only in the response.
  if (isCut ? output.length < items.length : output.length !== items.length)
    fault(`the response has ${output.length} items, the stream ${items.length}`);
  const carriers = items.toReversed().findIndex((item) => !onlyCarries(item));
  const lastWithContent = items.length - 1 - Math.max(carriers, 0);
  for (const [index, item] of items.entries()) {
    const isLast = index === items.length - 1;
    if (item.done === null) {
      if (!(isCut && isLast)) fault(`${item.id} is never done`);
      continue;
    }
    if (JSON.stringify(item.done) !== JSON.stringify(output[index])) fault(`${item.id} differs in the response`);
    if (item.type !== 'compaction') checkStatus(item, response?.['status'], index === lastWithContent, fault);
  }
}

/** A reasoning item without text has an envelope alone: an answer that was cut off ends before it. */
function onlyCarries({ type, done }: OpenItem): boolean {
  const parts = [done?.['summary'], done?.['content']].filter(Array.isArray).flat();
  return type === 'reasoning' && done !== null && parts.length === 0;
}

/** A call is never done in a stream that failed while it was open: clients run calls that are done, regardless of their status. */
function checkCut(item: OpenItem | undefined, inResponse: Fields | undefined, fault: Fault): void {
  if (item === undefined) return;
  if (!callTypes.test(item.type)) fault(`${item.id} is never done`);
  if (item.said !== null) fault(`${item.id} has the done of its arguments or input, and is cut`);
  if (inResponse?.['id'] !== item.id) fault(`${item.id} is not in the response`);
  const text = inResponse?.['arguments'] ?? inResponse?.['input'];
  if (typeof text === 'string' && !text.startsWith(item.text)) fault(`${item.id}: its text differs in the response`);
}

function checkStatus(item: OpenItem, answer: unknown, isLast: boolean, fault: Fault): void {
  const status = item.done?.['status'];
  const isCall = callTypes.test(item.type);
  if (answer === 'completed') {
    if (status !== 'completed') fault(`${item.id} is ${status} in a completed response`);
  } else if (isCall && answer === 'failed') {
    if (status !== 'completed' || statusOfEarlier(item) === 'incomplete')
      fault(`${item.id} is done in a failed response, and not whole`);
  } else if (isLast) {
    if (status !== 'incomplete' && answer !== 'failed') fault(`${item.id} is ${status}, and the last`);
  } else {
    const wanted = statusOfEarlier(item);
    if (wanted !== null && status !== wanted) fault(`${item.id} is ${status}, not ${wanted}`);
  }
}

/** The status that an item before the last must have when the answer was cut off; null if its text does not tell. */
function statusOfEarlier({ type, done }: OpenItem): 'completed' | 'incomplete' | null {
  if (type === 'message' || type === 'reasoning') return 'completed';
  // The input of other calls is not JSON, or was unwrapped from it.
  if (type !== 'function_call') return null;
  const text = String(done?.['arguments']).trim();
  if (!text.startsWith('{')) return 'incomplete';
  if (isJson(text)) return 'completed';
  // A brace may have seemed to end it, with nonsense before or after.
  return text.includes('}') ? null : 'incomplete';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
