import fc from 'fast-check';
import { expect, it } from 'vitest';
import { translateCompletion } from '../../src/filter/translate/chat-to-response/completion.ts';
import { StreamTranslator } from '../../src/filter/translate/chat-to-response/stream.ts';
import { builtInProfiles } from '../../src/filter/upstream/profiles.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import { codePoint } from '../support/code-point.ts';
import { type ContextSettings, createTestContext } from '../support/context.ts';

/** `npm run fuzz` gives the property minutes; in `npm test` it gets a fixed, small number of runs. */
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 0);
const options =
  seconds > 0
    ? { numRuns: 1e9, interruptAfterTimeLimit: seconds * 1000, markInterruptAsFailure: false }
    : { numRuns: 100 };

interface Call {
  readonly id: string | undefined;
  readonly function: { readonly name: string; readonly arguments: string };
}

interface Message {
  readonly content: string | null;
  readonly reasoning: string | null;
  readonly refusal: string | null;
  readonly tool_calls: readonly Call[];
}

const text = fc.oneof(
  fc.constantFrom('\n\n', ' x', '<think>why</think>\n\nanswer', '<think>never closed', '{"a":1}'),
  fc.string({ unit: codePoint, maxLength: 20 }),
);
const calls = fc
  .array(
    fc.record({
      id: fc.constantFrom('given', '', undefined),
      name: fc.constantFrom('get', 'get_weather', 'patch', 'files__read', 'never_offered'),
      arguments: fc.oneof(
        fc.constantFrom('', '{}', 'bare', '{"input":"a\\n\\u00e9\\ud83d\\ude00"}', '{"input": "cut', '{"cmd":"x"}'),
        fc.json({ maxDepth: 1 }),
      ),
    }),
    { maxLength: 4 },
  )
  .map((list) =>
    list.map(({ id, ...body }, index): Call => ({ id: id === 'given' ? `call_${String(index)}` : id, function: body })),
  );
const messages: fc.Arbitrary<Message> = fc.record({
  content: fc.option(text),
  reasoning: fc.option(text),
  refusal: fc.option(text, { freq: 10 }),
  tool_calls: calls,
});
const reasons = fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter', 'abort', 'unheard_of', null);
const contexts: fc.Arbitrary<ContextSettings> = fc.record({
  profile: fc.constantFrom(...[...builtInProfiles.keys()].filter((name) => name !== 'xai')), // it repeats text and calls, by its profile
  reasoningEvents: fc.constantFrom('summary', 'summary_and_content', 'reasoning_text', 'reasoning'),
  wantsEncryptedReasoning: fc.boolean(),
  toolNames: fc.constant(['get', 'get_weather']),
  restoredTools: fc.constant({
    patch: { kind: 'custom', name: 'patch' },
    files__read: { kind: 'function', name: 'read', namespace: 'files' },
  } as const),
});
const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };

/** The answer in pieces of `size` characters: the call's name first, then its arguments. */
function* deltasOf({ content, reasoning, refusal, tool_calls }: Message, size: number): Generator<object> {
  yield { role: 'assistant', content: '' };
  for (const piece of piecesOf(reasoning, size)) yield { reasoning: piece };
  for (const piece of piecesOf(content, size)) yield { content: piece };
  for (const piece of piecesOf(refusal, size)) yield { refusal: piece };
  for (const [index, { id, function: body }] of tool_calls.entries()) {
    yield { tool_calls: [{ index, id, function: { name: body.name, arguments: '' } }] };
    for (const piece of piecesOf(body.arguments, size)) {
      yield { tool_calls: [{ index, function: { arguments: piece } }] };
    }
  }
}

function* piecesOf(whole: string | null, size: number): Generator<string> {
  for (let at = 0; at < (whole?.length ?? 0); at += size) yield whole?.slice(at, at + size) ?? '';
}

/** Ids are minted in another order; what is keyed by them is compared by place. */
function withoutIds(response: unknown): unknown {
  return JSON.parse(
    JSON.stringify(response, (key, value: unknown) => {
      if (key === 'id') return '';
      // Of a call that is cut, `{}` in one piece may be a placeholder; its two halves are deltas already.
      if (key === 'arguments' && value === '{}') return '';
      return key === 'call_id' ? String(value).replace(/^call_\d+$/, '') : value;
    }),
  );
}

function translatedOrRefused<Result>(translate: () => Result): Result | ApiError {
  try {
    return translate();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
}

/** The property below once failed for it. */
const unclosedTwice: Message = {
  content: '<think>never closed',
  reasoning: '<think>never closed',
  refusal: null,
  tool_calls: [],
};

it('an answer is the same Response, whether it comes whole or in pieces', { timeout: seconds * 1000 + 600_000 }, () => {
  fc.assert(
    fc.property(messages, reasons, contexts, fc.integer({ min: 1, max: 9 }), (message, reason, settings, size) => {
      const whole = { model: 'up', choices: [{ index: 0, message, finish_reason: reason }], usage };
      const asJson = translatedOrRefused(() => translateCompletion(whole, createTestContext(settings)).response);
      const translator = new StreamTranslator(createTestContext(settings));
      for (const delta of deltasOf(message, size)) {
        const json = JSON.stringify({ model: 'up', choices: [{ index: 0, delta }] });
        translator.pushRawJson(json) ?? translator.push(JSON.parse(json), null, json);
      }
      translator.push({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
      translator.push({ choices: [], usage });
      const [end] = translator.finish('done').slice(-1);
      // Nothing at all, and no reason for it, is a failure: as JSON one with a status of its own.
      if (asJson instanceof ApiError) expect(end?.type).toBe('response.failed');
      else expect(withoutIds(end !== undefined && 'response' in end && end.response)).toEqual(withoutIds(asJson));
    }),
    { ...options, examples: [[unclosedTwice, 'stop', { profile: 'generic' }, 3]] },
  );
});
