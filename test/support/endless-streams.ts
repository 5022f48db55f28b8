import type { LooseChoice, LooseChunk, LooseMessage } from '../../src/filter/wire/schema/chat-completion.ts';
import { type ContextSettings, createTestContext } from './context.ts';

/** One chunk of an endless stream, as a malfunctioning server sends it: the `index`-th of its kind. */
export type ChunkOf = (index: number) => LooseChunk;

const delta = (fields: LooseMessage, rest: LooseChoice = {}): LooseChunk => ({
  model: 'm',
  choices: [{ index: 0, delta: fields, ...rest }],
});
const call = (index: number, fields: object, rest: object = {}) =>
  delta({ tool_calls: [{ index, ...rest, function: fields }] });
const cite = (index: number) => ({
  type: 'url_citation',
  url: `https://example.test/pages/${index}`,
  title: `Page ${index}`,
  start_index: index,
  end_index: index + 1,
});
const word = (index: number) => `word${index % 97} `;
const long = (index: number) => `${'a signature of some length '.repeat(8)}${index}`;

/**
 * Kinds of streams for each field of a delta. A new field of `LooseMessage` needs one here before this compiles,
 * since what is read may be kept. Null for fields that are never kept.
 */
const ofMessage: Record<keyof LooseMessage, Record<string, ChunkOf> | null> = {
  role: null,
  content: {
    text: (index) => delta({ content: word(index) }),
    'text of wide characters': (index) => delta({ content: `漢字${index % 97}` }),
    'white space': () => delta({ content: '\n'.repeat(20) }),
    'long pieces of text': (index) => delta({ content: word(index).repeat(40) }),
  },
  refusal: {
    refusals: (index) => delta({ refusal: word(index) }),
    'text and refusals by turns': (index) => delta(index % 2 === 0 ? { refusal: 'a b c' } : { content: 'd e f' }),
  },
  audio: { transcripts: (index) => delta({ audio: { transcript: word(index) } }) },
  images: {
    pictures: (index) =>
      delta({ images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${long(index)}` } }] }),
    'addresses of pictures': (index) =>
      delta({ images: [{ type: 'image_url', image_url: { url: `https://x/${index}` } }] }),
  },
  tool_calls: {
    'arguments of one call': (index) =>
      call(0, index === 0 ? { name: 'f', arguments: '{"a":"' } : { arguments: word(index) }),
    calls: (index) => call(index, { name: 'f', arguments: '{"a":1}' }, { id: `call_${index}` }),
    'arguments of a call that waits': (index) =>
      call(Math.min(index, 1), index < 2 ? { name: 'f', arguments: '{"a":"' } : { arguments: word(index) }),
    'calls that wait': (index) =>
      call(index, { name: 'f', arguments: index === 0 ? '{' : '{"a":1}' }, { id: `call_${index}` }),
    'calls without arguments': (index) => call(index, { name: 'f' }, { id: `call_${index}` }),
    'calls of a custom tool': (index) =>
      call(index, { name: 'p', arguments: '{"input":"abc"}' }, { id: `call_${index}` }),
    'input of a custom tool': (index) =>
      call(0, index === 0 ? { name: 'p', arguments: '{"input":"' } : { arguments: word(index) }),
    'arguments of a tool search': (index) =>
      call(0, index === 0 ? { name: 'search', arguments: '{"a":"' } : { arguments: word(index) }),
    'calls whose name may grow': (index) => call(index, { name: 'get' }),
    'calls run together': () => call(0, { name: 'f', arguments: '{"a":1}{"a":2}' }),
    'nameless calls': (index) => call(index, {}, { id: `call_${index}` }),
    'arguments of a nameless call': (index) => call(0, { arguments: word(index) }),
    'long ids': (index) => call(index, { name: 'f', arguments: '{}' }, { id: long(index) }),
    'late ids': (index) => call(0, { name: 'g' }, { id: long(index) }),
    signatures: (index) =>
      call(index, { name: 'f' }, { extra_content: { google: { thought_signature: long(index) } } }),
    'fields of LiteLLM': (index) =>
      call(index, { name: 'f' }, { provider_specific_fields: { thought_signature: long(index) } }),
  },
  function_call: {
    'a legacy call': (index) =>
      delta({ function_call: index === 0 ? { name: 'f', arguments: '{"' } : { arguments: word(index) } }),
  },
  annotations: {
    citations: (index) => delta({ content: 'a', annotations: [cite(index)] }),
    'citations before any text': (index) => delta({ annotations: [cite(index)] }),
  },
  search_results: { 'search results': (index) => delta({ content: 'a', search_results: [cite(index)] }) },
  citations: { 'bare citations': (index) => delta({ content: 'a', citations: [`https://example.test/${index}`] }) },
  reasoning_content: {
    reasoning: (index) => delta({ reasoning_content: word(index) }),
    'reasoning and text by turns': (index) =>
      delta(index % 2 === 0 ? { reasoning_content: 'a b c' } : { content: 'd e f' }),
  },
  reasoning: { 'reasoning under another name': (index) => delta({ reasoning: { text: word(index) } }) },
  reasoning_text: { 'reasoning under a third name': (index) => delta({ reasoning_text: word(index) }) },
  reasoning_details: {
    'reasoning details': (index) =>
      delta({ reasoning_details: [{ type: 'reasoning.text', text: word(index), index: 0 }] }),
    'encrypted details before reasoning': (index) =>
      delta({ reasoning_details: [{ type: 'reasoning.encrypted', data: long(index), id: `r${index}` }] }),
    'reasoning details with keys of their own': (index) =>
      delta({ reasoning_details: [{ type: 'reasoning.text', [`key-${index}-${'k'.repeat(60)}`]: 1 }] }),
    'details of many items': (index) =>
      delta(
        index % 2 === 0
          ? { reasoning_details: [{ type: 'reasoning.text', text: long(index), signature: long(index + 1) }] }
          : { content: 'a b c' },
      ),
  },
  thinking: { thinking: (index) => delta({ thinking: word(index) }) },
  thinking_blocks: {
    'thinking blocks': (index) => delta({ thinking_blocks: [{ thinking: word(index) }] }),
    'signed thinking blocks of many items': (index) =>
      delta(
        index % 2 === 0
          ? { thinking_blocks: [{ type: 'thinking', thinking: long(index), signature: long(index + 1) }] }
          : { content: 'a b c' },
      ),
    'redacted thinking': (index) => delta({ thinking_blocks: [{ type: 'redacted_thinking', data: long(index) }] }),
  },
  extra_content: {
    'thought signatures': (index) => delta({ extra_content: { google: { thought_signature: long(index) } } }),
  },
};

const token = (index: number) => ({ token: word(index), logprob: -1.5 - index, bytes: [1, 2, 3, 4, 5, 6] });
const logprobs = (index: number) => ({
  content: [{ ...token(index), top_logprobs: [token(index + 1), token(index + 2), token(index + 3)] }],
});

/** The same for each field of a choice. */
const ofChoice: Record<keyof LooseChoice, Record<string, ChunkOf> | null> = {
  index: null,
  delta: null,
  message: null,
  finish_reason: null,
  native_finish_reason: null,
  logprobs: { logprobs: (index) => delta({ content: word(index) }, { logprobs: logprobs(index) }) },
  usage: null,
  error: null,
};

/** The same for each field of a chunk. */
const ofChunk: Record<keyof LooseChunk, Record<string, ChunkOf> | null> = {
  id: null,
  object: null,
  created: null,
  model: null,
  system_fingerprint: null,
  service_tier: null,
  choices: null,
  usage: null,
  obfuscation: null,
  error: null,
  type: null,
  base_resp: null,
  x_groq: null,
  moderation: null,
  search_results: {
    'search results of the body': (index) => ({ ...delta({ content: 'a' }), search_results: [cite(index)] }),
  },
  citations: {
    'citations of the body': (index) => ({ ...delta({ content: 'a' }), citations: [`https://example.test/${index}`] }),
  },
};

/** Every kind by name. */
export const endlessStreams: readonly (readonly [string, ChunkOf])[] = [ofMessage, ofChoice, ofChunk].flatMap(
  (fields) => Object.values<Record<string, ChunkOf> | null>(fields).flatMap((kinds) => Object.entries(kinds ?? {})),
);

/** The same of what names the place of a text, for a server that repeats all before in each delta. */
export const repeatingStreams: readonly (readonly [string, ChunkOf])[] = [
  ['texts of many places', (index) => delta({ content: [{ type: `type${index}`, text: 'x' }] })],
  ['long types of parts', (index) => delta({ content: [{ type: `${index}${'t'.repeat(5000)}`, text: 'x' }] })],
  ['long types of details', (index) => delta({ reasoning_details: [{ type: long(index).repeat(20), text: 'x' }] })],
];

/** The context of a request that makes the service read every field it can. */
export const endlessContext = (profileFlags: ContextSettings['profileFlags'] = {}) =>
  createTestContext({
    profileFlags,
    stream: true,
    toolNames: ['f', 'get', 'get_weather'],
    restoredTools: { p: { kind: 'custom', name: 'p' }, search: { kind: 'tool_search' } },
    wantsEncryptedReasoning: true,
    wantsLogprobs: true,
  });
