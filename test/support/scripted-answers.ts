import { chatToolName } from '../../src/filter/translate/shared/chat-names.ts';
import type { Profile } from '../../src/filter/upstream/profile.ts';
import type { ChatCompletionRequest } from '../../src/filter/wire/schema/chat-request.ts';
import { type ToolKind, type ToolKindName, toolKinds } from './tool-kinds.ts';

/**
 * Answers of a Chat server that is made up: what its model says, once, and all the ways in which the server may send it.
 * Independent of how answers are read.
 */

/** What a server does in the same way in all its answers. */
export interface Habits {
  /** Where the reasoning is. */
  readonly thinks: 'reasoning_content' | 'reasoning' | 'both' | 'parts' | 'tags' | 'details' | 'blocks';
  /** Where it puts the signature of a call. That of a text is in the same field of the message, if it has one. */
  readonly signs: 'extra_content' | 'provider_specific_fields' | 'thought_signature' | 'thoughtSignature' | 'function';
  /** How it numbers calls: never twice, from 0 in each answer, all alike, not at all, or in Kimi's way. */
  readonly ids: 'unique' | 'anew' | 'same' | 'none' | 'functions.NAME:N';
  /** Its pieces of calls have an `index`. */
  readonly hasIndex: boolean;
  /** Each piece of a call repeats its id. */
  readonly repeatsIds: boolean;
  /** One choice; the calls in a second one, as GitHub Copilot has them; or a second answer that nobody asked for. */
  readonly choices: 'one' | 'parts' | 'alternative';
}

/** The habits of a server with that profile: where tags are left in the text, or all deltas repeat, reasoning is in a field. */
export function possibleHabits(habits: Habits, { thinkTags, cumulativeDeltas }: Profile): Habits {
  const inField = cumulativeDeltas ? ['details', 'blocks'] : [];
  if (thinkTags === 'off') inField.push('tags');
  const hasIndex = habits.hasIndex || cumulativeDeltas;
  return { ...habits, hasIndex, ...(inField.includes(habits.thinks) && { thinks: 'reasoning_content' }) };
}

/** A part of an answer, before it has marks and ids; `#` stands for a mark. */
export type PartPlan =
  | {
      readonly type: 'reasoning' | 'text';
      readonly text: string;
      readonly isSigned: boolean;
      readonly isCited: boolean;
    }
  | { readonly type: 'refusal' | 'picture'; readonly text: string }
  | { readonly type: 'call'; readonly tool: ToolKindName; readonly text: string; readonly isSigned: boolean };

export interface AnswerPlan {
  readonly parts: readonly PartPlan[];
  readonly reason: string | null;
  /** Whether a limit has cut the last part, after how many characters. */
  readonly cutAfter: number | null;
}

/** A part as the model says it: `text` is the arguments of a call. */
export interface Saying {
  readonly type: PartPlan['type'];
  readonly text: string;
  /** How many of its type came before it. */
  readonly place: number;
  /** `''` for none. */
  readonly signature: string;
  readonly citation: string;
  readonly call: SaidCall | null;
  readonly isCut: boolean;
}

export interface SaidCall {
  readonly kind: ToolKind;
  /** Undefined where the server gives none. */
  readonly id: string | undefined;
  /** As the request offered it. */
  readonly name: string;
  readonly isCustom: boolean;
}

/** An answer that is ready to be sent. */
export interface Answer {
  readonly sayings: readonly Saying[];
  readonly reason: string | null;
  readonly isCut: boolean;
}

/** Texts that occur nowhere else, in the order in which they are asked for. */
export class Marks {
  #count = 0;

  /** The template with a mark for each `#`. */
  in(template: string): string {
    return template.replaceAll('#', () => `k${++this.#count}z`);
  }
}

/** The marks in a text, or in all texts of a value, in order. */
export function marksIn(value: unknown): readonly string[] {
  return (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).match(/k\d+z/g) ?? [];
}

/** What the model says to that request. */
export function speak(
  plan: AnswerPlan,
  { ids, thinks }: Habits,
  marks: Marks,
  { tools = [] }: ChatCompletionRequest,
  profile: Profile,
): Answer {
  const native = new Set(
    tools.flatMap((tool) => (tool.type === 'custom' && 'custom' in tool ? [tool.custom.name] : [])),
  );
  let calls = 0;
  const sayings = plan.parts.map((part, index): Saying => {
    const place = plan.parts.slice(0, index).filter(({ type }) => type === part.type).length;
    // Anthropic signs every block, and Gemini a text at its end.
    const isLast = !plan.parts.slice(index + 1).some(({ type }) => type === part.type);
    const signs = part.type === 'call' || part.type === 'reasoning' || isLast;
    const isSigned =
      'isSigned' in part && signs && (part.isSigned || (part.type === 'reasoning' && thinks === 'blocks'));
    const signature = isSigned ? marks.in('sig#') : '';
    const said = marks.in(part.text);
    if (part.type !== 'call') {
      const citation = part.type === 'text' && part.isCited ? marks.in('https://#.test') : '';
      return { type: part.type, text: said, place, signature, citation, call: null, isCut: false };
    }
    const kind: ToolKind = toolKinds[part.tool];
    const name = chatToolName(kind.name, kind.namespace, profile);
    const isCustom = native.has(name);
    const numbered = { anew: `call_${calls}`, same: 'call_0', 'functions.NAME:N': `functions.${name}:${calls}` };
    const id = ids === 'none' ? undefined : ids === 'unique' ? marks.in('call_#') : numbered[ids];
    calls += 1;
    const text = isCustom ? said : JSON.stringify(kind.args(said));
    return { type: 'call', text, place, signature, citation: '', call: { kind, id, name, isCustom }, isCut: false };
  });
  const last = sayings.at(-1);
  if (plan.cutAfter === null || last === undefined || last.type === 'picture')
    return { sayings, reason: plan.reason, isCut: false };
  // A limit cuts before the signature.
  const cut = { ...last, text: [...last.text].slice(0, plan.cutAfter).join(''), signature: '', isCut: true };
  return { sayings: [...sayings.slice(0, -1), cut], reason: 'length', isCut: true };
}

const order = ['reasoning', 'text', 'refusal', 'picture', 'call'];

/** The plan in the order that a message in JSON has: nothing comes after what it leads to. */
export function inMessageOrder(plan: AnswerPlan): AnswerPlan {
  return { ...plan, parts: plan.parts.toSorted((one, other) => order.indexOf(one.type) - order.indexOf(other.type)) };
}

/** The plan where thinking in tags begins the answer, as nearly all servers have it. */
export function withLeadingTags(plan: AnswerPlan, { thinks }: Habits): AnswerPlan {
  if (thinks !== 'tags') return plan;
  return { ...plan, parts: plan.parts.filter(({ type }, index) => type !== 'reasoning' || index === 0) };
}

const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };

/** The answer as a completion in JSON. `sizes` are the lengths of its tokens. */
export function completionOf(answer: Answer, habits: Habits, sizes: readonly number[]): object {
  const { sayings, reason } = answer;
  const logprobs = tokensOf(sayings.flatMap((saying) => contentPieces(saying, habits, sizes)));
  const whole = messageOf(sayings, habits);
  const choice = { index: 0, message: whole, finish_reason: reason, ...(logprobs && { logprobs }) };
  return { model: 'up', choices: choicesOf(choice, habits), usage };
}

/** How the same answer is a stream: its whole message as one delta, or in pieces, after which the whole message may come again. */
export type StreamForm = 'one' | 'pieces' | 'pieces_and_message';

/** The chunks of the answer as a stream. */
export function chunksOf(answer: Answer, habits: Habits, sizes: readonly number[], form: StreamForm): object[] {
  const { sayings, reason } = answer;
  const end = { index: 0, delta: {}, finish_reason: reason };
  const hasCalls = sayings.some(({ call }) => call !== null);
  const ends = habits.choices === 'parts' && hasCalls ? [end, { ...end, index: 1 }] : [end];
  if (form === 'one') {
    const logprobs = tokensOf(sayings.flatMap((saying) => contentPieces(saying, habits, sizes)));
    const choice = { index: 0, delta: messageOf(sayings, habits, true), ...(logprobs && { logprobs }) };
    return [...chunks(choice, habits), { choices: ends }, { choices: [], usage }];
  }
  let calls = 0;
  const deltas = sayings.flatMap((saying) => {
    if (saying.call !== null) calls += 1;
    return deltasOf(saying, habits, sizes, calls - 1);
  });
  // No server is known that signs its reasoning and does so.
  const repeats = form === 'pieces_and_message' && habits.thinks !== 'details' && habits.thinks !== 'blocks';
  const whole = !repeats ? [] : [{ ...end, message: messageOf(sayings, habits) }];
  return [
    { model: 'up', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] },
    ...deltas.flatMap((delta) => {
      const logprobs = typeof delta['content'] === 'string' ? tokensOf([delta['content']]) : null;
      return chunks({ index: 0, delta, ...(logprobs && { logprobs }) }, habits);
    }),
    ...(whole.length > 0 ? whole.flatMap((choice) => chunks(choice, habits)) : [{ choices: ends }]),
    { choices: [], usage },
  ];
}

/** The same chunks, where each delta repeats what came before it. */
export function repeatingAll(given: readonly object[]): object[] {
  const texts = new Map<string, string>();
  const grown = (key: string, piece: unknown): unknown => {
    if (typeof piece !== 'string') return piece;
    const text = (texts.get(key) ?? '') + piece;
    texts.set(key, text);
    return text;
  };
  /** In parts of the content, too. */
  const grownIn = (key: string, value: unknown): unknown => {
    if (!Array.isArray(value)) return grown(key, value);
    // Only Mistral has texts within a part's `thinking`.
    return value.map((part) =>
      part.type === 'thinking' ? { ...part, thinking: grown(`${key} thinking`, part.thinking[0].text) } : part,
    );
  };
  return given.map((chunk) => {
    const { choices } = chunk as { choices: { index: number; delta?: Record<string, unknown> }[] };
    return {
      ...chunk,
      choices: choices.map((choice) => {
        const { tool_calls: calls, ...fields } = choice.delta ?? {};
        const at = (name: string) => `${choice.index} ${name}`;
        const delta = Object.fromEntries(
          Object.entries(fields).map(([name, value]) => [name, name === 'role' ? value : grownIn(at(name), value)]),
        );
        if (!Array.isArray(calls)) return { ...choice, delta };
        const entries = calls.map(({ index, function: called, custom, ...call }) => ({
          ...call,
          index,
          ...(called && { function: { ...called, arguments: grown(at(`call ${index}`), called.arguments) } }),
          ...(custom && { custom: { ...custom, input: grown(at(`call ${index}`), custom.input) } }),
        }));
        return { ...choice, delta: { ...delta, tool_calls: entries } };
      }),
    };
  });
}

export function sseOf(chunks: readonly object[]): Buffer {
  return Buffer.from([...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'].join(''));
}

/** The message of a completion; or the one delta of a stream, whose calls have an index. */
function messageOf(sayings: readonly Saying[], habits: Habits, isDelta = false): Record<string, unknown> {
  const of = (type: Saying['type']) => sayings.filter((saying) => saying.type === type);
  const joined = (type: Saying['type']) =>
    of(type)
      .map(({ text }) => text)
      .join('');
  const content =
    habits.thinks === 'parts' && of('reasoning').length > 0
      ? sayings.flatMap((saying) => contentPieces(saying, habits, [Number.POSITIVE_INFINITY])).flatMap(partsOf)
      : sayings.flatMap((saying) => contentPieces(saying, habits, [Number.POSITIVE_INFINITY])).join('');
  const calls = of('call').map((saying, index) => callEntry(saying, habits, isDelta ? index : null));
  const images = of('picture').map(pictureOf);
  const annotations = sayings.flatMap(citationsIn);
  return {
    role: 'assistant',
    content: content.length === 0 ? null : content,
    ...(of('refusal').length > 0 && { refusal: joined('refusal') }),
    ...reasoningFields(of('reasoning'), habits),
    ...ownSignature(of('text').findLast(({ signature }) => signature !== '')),
    ...(annotations.length > 0 && { annotations }),
    ...(images.length > 0 && { images }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function partsOf(piece: unknown): unknown[] {
  return typeof piece === 'string' ? [{ type: 'text', text: piece }] : [piece];
}

/** The deltas that say it, one after the other. */
function deltasOf(saying: Saying, habits: Habits, sizes: readonly number[], index: number): Record<string, unknown>[] {
  switch (saying.type) {
    case 'reasoning':
      if (habits.thinks === 'tags') return contentPieces(saying, habits, sizes).map((content) => ({ content }));
      if (habits.thinks === 'parts') return contentPieces(saying, habits, sizes).map((part) => ({ content: [part] }));
      return [
        ...piecesOf(saying.text, sizes).map((text) => reasoningFields([{ ...saying, text, signature: '' }], habits)),
        ...(saying.signature === '' ? [] : [reasoningFields([{ ...saying, text: '' }], habits)]),
      ];
    case 'text': {
      const pieces = contentPieces(saying, habits, sizes).map((content): Record<string, unknown> => ({ content }));
      const annotations = citationsIn(saying);
      const beside = { ...ownSignature(saying), ...(annotations.length > 0 && { annotations }) };
      return [...pieces.slice(0, -1), { ...pieces.at(-1), ...beside }];
    }
    case 'refusal':
      return piecesOf(saying.text, sizes).map((refusal) => ({ refusal }));
    case 'picture':
      return [{ images: [pictureOf(saying)] }];
    case 'call': {
      const { id, isCustom } = saying.call as SaidCall;
      const place = habits.hasIndex || id === undefined || habits.ids === 'same' ? { index } : {};
      const of = (given: object) => ({ tool_calls: [{ ...place, ...(habits.repeatsIds && { id }), ...given }] });
      const first = callEntry({ ...saying, text: '' }, habits, habits.hasIndex || 'index' in place ? index : null);
      return [
        { tool_calls: [first] },
        ...piecesOf(saying.text, sizes).map((text) =>
          of(isCustom ? { custom: { input: text } } : { function: { arguments: text } }),
        ),
      ];
    }
  }
}

/** The text in the pieces that `content` has of it: with reasoning where that is in the content. */
function contentPieces(saying: Saying, { thinks }: Habits, sizes: readonly number[]): (string | object)[] {
  if (saying.type === 'text') return piecesOf(saying.text, sizes);
  if (saying.type !== 'reasoning') return [];
  if (thinks === 'tags') return piecesOf(`<think>${saying.text}${saying.isCut ? '' : '</think>'}`, sizes);
  if (thinks !== 'parts') return [];
  return piecesOf(saying.text, sizes).map((text) => ({ type: 'thinking', thinking: [{ type: 'text', text }] }));
}

function piecesOf(text: string, sizes: readonly number[]): string[] {
  const characters = [...text];
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < characters.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(characters.slice(at, at + size).join(''));
    at += size;
  }
  return pieces;
}

function tokensOf(pieces: readonly (string | object)[]): object | null {
  const texts = pieces.filter((piece) => typeof piece === 'string');
  if (texts.length === 0) return null;
  return { content: texts.map((token) => ({ token, logprob: -1, bytes: [...Buffer.from(token)], top_logprobs: [] })) };
}

function reasoningFields(sayings: readonly Saying[], { thinks }: Habits): Record<string, unknown> {
  if (sayings.length === 0) return {};
  const text = sayings.map((saying) => saying.text).join('');
  switch (thinks) {
    case 'reasoning':
      return { reasoning: text };
    case 'reasoning_content':
      return { reasoning_content: text };
    case 'both':
      return { reasoning: text, reasoning_content: text };
    case 'details':
      return { reasoning: text, reasoning_details: sayings.map((saying) => withSignature(saying, 'reasoning.text')) };
    case 'blocks':
      return { reasoning_content: text, thinking_blocks: sayings.map((saying) => withSignature(saying, 'thinking')) };
    case 'parts':
    case 'tags':
      return {};
  }
}

function withSignature({ text, signature, place }: Saying, type: 'reasoning.text' | 'thinking'): object {
  const field = type === 'thinking' ? { thinking: text } : { text, index: place };
  return { type, ...field, ...(signature !== '' && { signature }) };
}

/** Gemini's signature of a message. */
function ownSignature(saying: Saying | undefined): object {
  if (saying === undefined || saying.signature === '') return {};
  return { extra_content: { google: { thought_signature: saying.signature } } };
}

function callEntry({ text, signature, call }: Saying, { signs }: Habits, index: number | null): object {
  const { id, name, isCustom } = call as SaidCall;
  const fields = {
    extra_content: { extra_content: { google: { thought_signature: signature } } },
    provider_specific_fields: { provider_specific_fields: { thought_signature: signature } },
    thought_signature: { thought_signature: signature },
    thoughtSignature: { thoughtSignature: signature },
    function: isCustom ? { provider_specific_fields: { thought_signature: signature } } : {},
  };
  const beside = signature === '' ? {} : fields[signs];
  const within = signature !== '' && signs === 'function' ? fields.provider_specific_fields : {};
  const called = isCustom
    ? { type: 'custom', custom: { name, input: text } }
    : { type: 'function', function: { name, arguments: text, ...within } };
  return { ...(id !== undefined && { id }), ...(index !== null && { index }), ...called, ...beside };
}

function pictureOf({ text }: Saying): object {
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${text}` } };
}

function citationsIn({ citation }: Saying): object[] {
  const page = { url: citation, title: 'Page', start_index: 0, end_index: 1 };
  return citation === '' ? [] : [{ type: 'url_citation', url_citation: page }];
}

interface Choice {
  readonly index: number;
  readonly message?: Record<string, unknown>;
  readonly delta?: Record<string, unknown>;
  readonly finish_reason?: string | null;
}

function choicesOf(choice: Choice, { choices }: Habits): Choice[] {
  const key = choice.message === undefined ? 'delta' : 'message';
  const { tool_calls, ...rest } = choice[key] ?? {};
  if (choices === 'alternative') {
    const { content } = rest;
    return typeof content === 'string' && content !== ''
      ? [choice, { index: 1, [key]: { content: 'Or not.' } }]
      : [choice];
  }
  if (choices === 'one' || tool_calls === undefined) return [choice];
  const { index: _, [key]: __, ...beside } = choice;
  const calls = {
    index: 1,
    [key]: { tool_calls },
    ...('finish_reason' in beside && { finish_reason: beside.finish_reason }),
  };
  return Object.keys(rest).length === 0 ? [calls] : [{ ...choice, [key]: rest }, calls];
}

function chunks(choice: Choice, habits: Habits): object[] {
  return choicesOf(choice, habits).map((one) => ({ model: 'up', choices: [one] }));
}
