import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../../../src/filter/translate/chat-to-response/completion.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { type ContextSettings, createTestContext } from '../../../support/context.ts';
import { runs } from '../../../support/property-runs.ts';
import { faultsOfEvent, faultsOfResponse } from '../../../support/published-schema.ts';
import { runStream } from '../../../support/run-stream.ts';
import { eventsOf } from '../../../support/stream-lines.ts';

/**
 * Clients with closed enums (Rust's async-openai, openai-java) refuse a whole Response for one word that they do not know. So whatever
 * word an upstream has in a field, it reaches only those fields of a Response that take any text.
 */
const freeFields = new Set([
  ...['text', 'delta', 'refusal', 'arguments', 'input', 'result', 'token', 'title', 'url', 'name', 'call_id'],
  ...['model', 'message', 'code', 'param', 'encrypted_content'],
]);

const call = { id: 'call_1', index: 0, type: 'function', function: { name: 'look', arguments: '{"at":"sea"}' } };
const token = { token: 'Hi', logprob: -0.1, bytes: [72, 105], top_logprobs: [] };

/** An answer with every field that is read. */
const message = {
  role: 'assistant',
  content: [
    { type: 'text', text: 'Hi' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
  ],
  refusal: 'No.',
  images: [{ type: 'image_url', image_url: { url: 'data:image/webp;base64,UklGRg==' } }],
  annotations: [
    { type: 'url_citation', url_citation: { url: 'https://a.test', title: 'A', start_index: 0, end_index: 2 } },
  ],
  reasoning: 'Because.',
  reasoning_details: [{ type: 'reasoning.text', text: 'Because.', signature: 's', format: 'f', index: 0 }],
  tool_calls: [call],
  extra_content: { google: { thought_signature: 's' } },
};
const choice = { index: 0, finish_reason: 'tool_calls', logprobs: { content: [token] } };
const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
const body = {
  id: 'chat_1',
  object: 'chat.completion',
  model: 'm',
  service_tier: 'default',
  system_fingerprint: 'f',
  usage,
};

/** The paths of all texts in a value. */
function textPaths(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value === 'string') return [[...path]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => textPaths(inner, [...path, key]));
}

function withWord(value: unknown, [key, ...rest]: readonly string[], word: string): unknown {
  if (key === undefined) return word;
  if (Array.isArray(value))
    return value.map((entry, index) => (String(index) === key ? withWord(entry, rest, word) : entry));
  const object = value as Readonly<Record<string, unknown>>;
  return { ...object, [key]: withWord(object[key], rest, word) };
}

/** The fields that have the word. */
function fieldsWith(value: unknown, word: string): string[] {
  return textPaths(value)
    .filter((path) => path.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], value) === word)
    .map((path) => path.filter((key) => !/^\d+$/.test(key)).at(-1) ?? '');
}

const settings = fc.record({
  profile: fc.constantFrom(...builtInProfiles.keys()),
  reasoningEvents: fc.constantFrom('summary', 'reasoning'),
  wantsLogprobs: fc.boolean(),
  wantsEncryptedReasoning: fc.boolean(),
  toolNames: fc.constantFrom(['look'], []),
}) satisfies fc.Arbitrary<ContextSettings>;

/** Words of other vendors, of nobody, and of the API itself where they mean something else. */
const words = fc.oneof(
  fc.constantFrom('on_demand', 'fast', 'queued', 'requires_action', 'cancelled', 'tool', 'max_tokens', 'bmp', 'xhigh'),
  fc.stringMatching(/^zz_[a-z_]{1,9}$/),
);

describe('a word of the upstream’s is in no field of a closed set', () => {
  it('as JSON, wherever it was (property)', () => {
    const completion = { ...body, choices: [{ ...choice, message }] };
    fc.assert(
      fc.property(fc.constantFrom(...textPaths(completion)), words, settings, (path, word, context) => {
        const answer = translatedOrRefused(withWord(completion, path, word), context);
        if (answer === null) return;
        expect(fieldsWith(answer, word).filter((field) => !freeFields.has(field))).toEqual([]);
        expect(faultsOfResponse(answer)).toEqual([]);
      }),
      { numRuns: runs(1000) },
    );
  });

  it('in a stream, in no event (property)', () => {
    const { annotations: _cited, ...delta } = message;
    const chunk = { ...body, object: 'chat.completion.chunk', choices: [{ ...choice, delta }] };
    fc.assert(
      fc.property(fc.constantFrom(...textPaths(chunk)), words, settings, (path, word, context) => {
        const data = `data: ${JSON.stringify(withWord(chunk, path, word))}\n\ndata: [DONE]\n\n`;
        const { bytes } = runStream([Buffer.from(data)], createTestContext(context), { committed: true });
        for (const { type: _type, ...event } of eventsOf(bytes.toString()))
          expect(fieldsWith(event, word).filter((field) => !freeFields.has(field))).toEqual([]);
        expect(eventsOf(bytes.toString()).flatMap((event) => faultsOfEvent(event))).toEqual([]);
      }),
      { numRuns: runs(1000) },
    );
  });
});

/** Null for an answer that becomes an HTTP error. */
function translatedOrRefused(completion: unknown, context: ContextSettings): unknown {
  try {
    return translateCompletion(completion, createTestContext(context)).response;
  } catch (thrown) {
    if (thrown instanceof ApiError) return null;
    throw thrown;
  }
}
