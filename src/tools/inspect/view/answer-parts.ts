import { objectOf, objectsOf } from '../../../formats/json/loose.ts';
import type { ExchangeFile } from '../../files/exchange-file.ts';
import { indentJsonText, writeIndentedJson } from './json-lines.ts';
import { parseShown, writeWord } from './timeline.ts';

export interface AnswerPart {
  readonly kind: 'reasoning' | 'text' | 'refusal' | 'call' | 'other';
  readonly name: string;
  /** The id by which a later request refers to this call; empty for parts that are not calls. */
  readonly callId: string;
  readonly text: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads the parts of the answer that the client has so far; none for an error, or for another kind of stream. */
export function readAnswerParts(received: string, isStream: boolean): readonly AnswerPart[] {
  const response = objectOf<Fields>(isStream ? findLastResponse(received) : parseShown(received)) ?? {};
  const output = objectsOf<Fields>(response['output']);
  if (output.length > 0) return output.flatMap(readItemParts);
  if (isStream) return readItemsSoFar(received).flatMap(readItemParts);
  const [choice] = objectsOf<Fields>(response['choices']);
  if (choice !== undefined) return buildItemsOfChat(objectOf<Fields>(choice['message']) ?? {}).flatMap(readItemParts);
  const isAnswer = 'output' in response || (response['error'] ?? null) !== null || received.trim() === '';
  return isAnswer ? [] : [readItemPart('other', indentJsonText(received))];
}

function readItemsSoFar(stream: string): readonly Fields[] {
  const items = new Map<unknown, Fields>();
  const texts = new Map<unknown, string>();
  for (const block of stream.split('\n\n')) {
    const at = block.indexOf('data: {');
    const event = objectOf<Fields>(at === -1 ? null : parseShown(block.slice(at + 6))) ?? {};
    const { type, output_index: index, item, delta } = event;
    if (item !== undefined) items.set(index, objectOf<Fields>(item) ?? {});
    if (type === 'response.output_item.done') texts.delete(index);
    else if (typeof delta === 'string') texts.set(index, (texts.get(index) ?? '') + delta);
  }
  return [...items].map(([index, item]) => {
    const text = texts.get(index);
    if (text === undefined) return item;
    return { ...item, content: [{ text }], arguments: text, summary: [] };
  });
}

/** Turns a Chat message into items, for an answer that passed through untranslated. */
function buildItemsOfChat(message: Fields): readonly Fields[] {
  const calls = objectsOf<Fields>(message['tool_calls']);
  return [
    { type: 'reasoning', content: [{ text: message['reasoning_content'] ?? message['reasoning'] }] },
    { type: 'message', content: [{ text: message['content'] }, { refusal: message['refusal'] }] },
    ...calls.map(({ id, function: own }) => ({ type: 'function_call', call_id: id, ...objectOf<Fields>(own) })),
  ];
}

function readItemParts(item: Fields): readonly AnswerPart[] {
  const { type, name, namespace, call_id, content, summary, encrypted_content } = item;
  if (type === 'message')
    return objectsOf<Fields>(content).flatMap(({ text, refusal }) => [
      ...(isEmpty(text) ? [] : [readItemPart('text', writeShown(text))]),
      ...(isEmpty(refusal) ? [] : [readItemPart('refusal', writeShown(refusal))]),
    ]);
  if (type === 'reasoning') {
    const texts = [...objectsOf<Fields>(summary), ...objectsOf<Fields>(content)].map(({ text }) => writeShown(text));
    const whole = texts.filter((text) => text !== '').join('\n\n');
    if (whole !== '') return [readItemPart('reasoning', whole, 'Reasoning')];
    const sealed = writeShown(encrypted_content);
    return sealed === '' ? [] : [readItemPart('reasoning', sealed, 'Reasoning, encrypted')];
  }
  if (typeof type !== 'string' || !type.endsWith('_call'))
    return [readItemPart('other', writeIndentedJson(item), writeShown(type))];
  const tool =
    name === undefined ? type.replace(/_call$/, '') : [namespace, name].filter(Boolean).map(writeShown).join('/');
  const given = item['arguments'] ?? item['input'] ?? item['action'] ?? item['operation'];
  return [{ ...readItemPart('call', indentJsonText(writeShown(given)), tool), callId: writeShown(call_id) }];
}

function readItemPart(kind: AnswerPart['kind'], text: string, name = ''): AnswerPart {
  return { kind, name, callId: '', text };
}

const isEmpty = (value: unknown) => value === undefined || value === null || value === '';

/** Writes a value of any kind as text, because a stream that passed through may have anything. */
export function writeShown(value: unknown): string {
  return typeof value === 'string' ? value : isEmpty(value) ? '' : writeIndentedJson(value);
}

export function findLastResponse(stream: string): unknown {
  const blocks = stream.split('\n\n');
  for (let index = blocks.length - 1; index >= 0; index -= 1) {
    const data = blocks[index]?.split('\n').find((line) => line.startsWith('data: {'));
    const event = data === undefined ? null : parseShown(data.slice(6));
    const { response } = objectOf<{ response?: unknown }>(event) ?? {};
    if (response !== undefined) return response;
  }
  return null;
}

/** The message that the client received, as an error or in an event. */
export function findErrorMessage(response: ExchangeFile['client_response']): string | null {
  const last = response?.pieces.map((piece) => ('text' in piece ? piece.text : '')).join('') ?? '';
  const event = isEventStream(response) ? findLastResponse(last) : parseShown(last);
  const { message } = objectOf<{ message?: unknown }>(objectOf<{ error?: unknown }>(event)?.error) ?? {};
  return message === undefined ? null : writeWord(message);
}

export function isEventStream(response: ExchangeFile['chat_response']): boolean {
  const type = response?.headers.find(({ name }) => name === 'content-type')?.value ?? '';
  return type.startsWith('text/event-stream');
}
