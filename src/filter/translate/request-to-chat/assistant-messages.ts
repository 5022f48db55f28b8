import type { Profile } from '../../upstream/profile.ts';
import type { ChatContentPart, ChatMessage, ChatToolCall, OpaqueFields } from '../../wire/schema/chat-request.ts';
import { chatToolName, upstreamCallId } from '../shared/chat-names.ts';
import type { InputContent, InputMessage, InputText } from '../shared/parsed.ts';
import { carry, carryKeys } from '../shared/provenance.ts';
import type { EarlierReasoning } from './earlier-reasoning.ts';
import type { PairedCall } from './pair-calls.ts';
import type { ToolTable } from './tools-to-chat.ts';

/** One assistant message while its parts are gathered. */
export class AssistantMessage {
  readonly reasoning: EarlierReasoning[] = [];
  /** Null until the model says something, even if only `''`. */
  text: string | null = null;
  refusal: string | null = null;
  /** The calls, with the ids that the server gave them. */
  readonly calls = new Map<PairedCall, string>();
  readonly #ids = new Set<string>();
  readonly #repeats = new Map<string, number>();
  /** Calls whose outputs have not been reached yet. */
  readonly waiting = new Set<PairedCall>();
  /** An output has been reached: what follows is the model's next message, made with that output. */
  answered = false;
  /** Messages that stood between calls and outputs, and follow the outputs. */
  readonly deferred: InputMessage[] = [];

  /** A message may have each id only once. Where a server gave one id to several calls, each further call gets one of its own. */
  addCall(call: PairedCall): void {
    const given = upstreamCallId(call.callId);
    let id = given;
    if (this.#ids.has(id)) {
      let times = this.#repeats.get(given) ?? 1;
      do id = `${given}_repeat${++times}`;
      while (this.#ids.has(id));
      this.#repeats.set(given, times);
    }
    this.#ids.add(id);
    this.calls.set(call, id);
    if (!call.abandoned) this.waiting.add(call);
  }
}

export function buildChatMessage(item: InputMessage, profile: Profile): ChatMessage {
  const message: ChatMessage = { role: item.role, content: writeContent(item, profile), ...item.extensions };
  carry(message, item);
  carryKeys(message, item, ['role', 'content']);
  return message;
}

function writeContent({ role, content }: InputMessage, profile: Profile): string | ChatContentPart[] {
  if (role === 'user') return writeUserContent(content, profile);
  const isText = !profile.arrayContent || isPlainText(content);
  return isText ? joinText(content) : listChatParts(content);
}

function writeUserContent(content: readonly InputContent[], profile: Profile): string | ChatContentPart[] {
  if (isPlainText(content) && (content.length <= 1 || !profile.arrayContent)) return joinText(content);
  // Anthropic and Bedrock, also behind routers, refuse a text part without text.
  const parts = listChatParts(content).filter((part) => part.type !== 'text' || part.text !== '');
  return parts.length > 0 ? parts : '';
}

/** The assistant message, if it has content; a tool message for each call; and the messages that waited for the outputs. */
export function writeAssistant(
  open: AssistantMessage,
  profile: Profile,
  tools: ToolTable,
  opaque: ReadonlyMap<PairedCall, OpaqueFields>,
): readonly ChatMessage[] {
  const calls = Array.from(open.calls, ([call, id]) => {
    const written: ChatToolCall = { id, ...writeToolCall(call, profile, tools), ...opaque.get(call) };
    carry(written, call);
    carryKeys(written, call, [], { id: 'call_id' });
    return written;
  });
  const refusal = profile.refusalField ? open.refusal : null;
  const text = profile.refusalField ? open.text : textWithRefusal(open);
  const replayed = replayReasoning(open, text, profile);
  const isEmpty = text === null && refusal === null && calls.length === 0 && replayed === null;
  const assistant: ChatMessage = {
    role: 'assistant',
    content: text || (refusal === null && calls.length === 0 ? '' : null),
    ...(refusal === null ? {} : { refusal }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...replayed,
  };
  carry(assistant, open);
  for (const key in replayed) for (const earlier of open.reasoning) carry(assistant, earlier, key);
  return [
    ...(isEmpty ? [] : [assistant]),
    ...Array.from(open.calls, writeToolMessage),
    ...open.deferred.map((item) => buildChatMessage(item, profile)),
  ];
}

/** Where the server has no field for a refusal, it is a paragraph of the text. */
function textWithRefusal({ text, refusal }: AssistantMessage): string | null {
  return text && refusal ? `${text}\n\n${refusal}` : text || (refusal ?? text);
}

function writeToolCall(call: PairedCall, profile: Profile, tools: ToolTable) {
  const { takesText, input } = call;
  const name = tools.find(call.name, call.namespace)?.name ?? chatToolName(call.name, call.namespace, profile);
  if (!takesText) {
    const called = { name, arguments: input };
    carryKeys(called, call, ['name', 'arguments']);
    return { type: 'function', function: called } as const;
  }
  if (profile.customTools === 'native') {
    const called = { name, input };
    carryKeys(called, call, ['name', 'input']);
    return { type: 'custom', custom: called } as const;
  }
  return { type: 'function', function: { name, arguments: JSON.stringify({ input }) } } as const;
}

function writeToolMessage([{ outputs }, id]: readonly [PairedCall, string]): ChatMessage {
  const text = outputs
    .map((parts) => joinText(parts))
    .filter((output) => output !== '')
    .join('\n');
  const media = listChatParts(outputs.flat()).filter(({ type }) => type !== 'text');
  const parts = text === '' ? media : [{ type: 'text', text } as const, ...media];
  const message: ChatMessage = {
    role: 'tool',
    tool_call_id: id,
    content: media.length === 0 ? text : parts,
  };
  for (const output of outputs) {
    carry(message, output);
    carryKeys(message, output, [], { tool_call_id: 'call_id', content: 'output' });
  }
  return message;
}

/**
 * Earlier reasoning in the field from which the server reads it; null if the message has none that this server would accept. Signed
 * thinking blocks go back whatever the profile's `reasoningReplay`: only the server that sent them gets them, and it refuses a call
 * without them.
 */
function replayReasoning(
  open: AssistantMessage,
  said: string | null,
  { reasoningReplay: mode }: Profile,
): Partial<ChatMessage> | null {
  const text = open.reasoning.map((item) => item.text).join('');
  const details = mode === 'reasoning_details' ? open.reasoning.flatMap((item) => item.details) : [];
  const blocks = open.reasoning.flatMap((item) => item.blocks);
  const own = open.reasoning.find(({ fields }) => Object.hasOwn(fields, ''))?.fields[''];
  let reasoning = text === '' ? null : writeReasoning(text, said, mode);
  if (details.length > 0) reasoning = { reasoning_details: details };
  else if (blocks.length > 0) reasoning = { thinking_blocks: blocks };
  return own === undefined ? reasoning : { ...reasoning, ...own };
}

function writeReasoning(
  text: string,
  said: string | null,
  mode: Profile['reasoningReplay'],
): Partial<ChatMessage> | null {
  switch (mode) {
    case 'none':
      return null;
    case 'reasoning_content':
      return { reasoning_content: text };
    case 'reasoning':
    case 'reasoning_details':
      return { reasoning: text };
    case 'both':
      return { reasoning: text, reasoning_content: text };
    case 'mistral_thinking': {
      const thinking = { type: 'thinking', thinking: [{ type: 'text', text }] } as const;
      return { content: said ? [thinking, { type: 'text', text: said }] : [thinking] };
    }
  }
}

/** The parts that a Chat message can hold. Refusals have a field of their own there. */
function listChatParts(content: readonly InputContent[]): ChatContentPart[] {
  return content.flatMap((part): ChatContentPart[] => {
    if (part.type === 'refusal') return [];
    if (part.type !== 'text' || part.hasOwnLines === undefined) return [part];
    const { hasOwnLines: _hasOwnLines, ...written } = part;
    return [written];
  });
}

/** Joins the text parts, since clients cut text anywhere. A file, and the placeholder of an image, has lines of its own. */
export function joinText(content: readonly InputContent[]): string {
  let text = '';
  let previous: InputText | null = null;
  // To look at the end of `text`, V8 would copy all of it.
  let endsLine = false;
  for (const part of content) {
    if (part.type !== 'text') continue;
    const isSeam = previous !== null && (previous.hasOwnLines === true || part.hasOwnLines === true);
    const piece: string = isSeam && !endsLine ? `\n${part.text}` : part.text;
    text += piece;
    if (piece !== '') endsLine = piece.endsWith('\n');
    previous = part;
  }
  return text;
}

function isPlainText(content: readonly InputContent[]): boolean {
  return content.every((part) => part.type === 'text' && Object.keys(part).every((key) => textKeys.has(key)));
}

/** A text part with other keys, such as hints for a cache, cannot be joined. */
const textKeys: ReadonlySet<string> = new Set<keyof InputText>(['type', 'text', 'hasOwnLines']);
