import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TranslatedRequest } from '../../../../../src/filter/translate/request-to-chat/request.ts';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { faultsOfChat } from '../../../../support/chat-rules.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { profilesWithTools } from '../../../../support/profiles-with-tools.ts';
import { runs } from '../../../../support/property-runs.ts';
import { createTestSettings, type SettingsOverrides } from '../../../../support/settings.ts';

const translate = (body: unknown, settings: SettingsOverrides): TranslatedRequest =>
  translateRequest(body, createTestSettings(settings), { now: () => 1, newId: createCountedIds() });

const profile = fc.constantFrom(...profilesWithTools);

const textPart = fc.record({ type: fc.constantFrom('input_text', 'text'), text: fc.string() });
const imagePart = fc.record(
  { type: fc.constant('input_image'), image_url: fc.webUrl(), detail: fc.constantFrom('auto', 'low', 'high', null) },
  { requiredKeys: ['type', 'image_url'] },
);
const textFile = fc.record({
  type: fc.constant('input_file'),
  filename: fc.constant('a.txt'),
  file_data: fc.string().map((text) => Buffer.from(text).toString('base64')),
});
const userContent = fc.oneof(fc.string(), fc.array(fc.oneof(textPart, imagePart, textFile), { maxLength: 4 }));
const assistantContent = fc.oneof(
  fc.string(),
  fc.array(
    fc.oneof(
      fc.record({ type: fc.constant('output_text'), text: fc.string(), annotations: fc.constant([]) }),
      fc.record({ type: fc.constant('refusal'), refusal: fc.string() }),
    ),
    { maxLength: 3 },
  ),
);
const message = fc.oneof(
  fc.record({ role: fc.constant('user'), content: userContent }, { requiredKeys: ['role', 'content'] }),
  fc.record({ role: fc.constant('assistant'), content: assistantContent }),
  fc.record({
    type: fc.constant('message'),
    role: fc.constantFrom('system', 'developer'),
    content: fc.oneof(fc.string(), fc.array(textPart, { maxLength: 3 })),
  }),
);
const reasoning = fc.record({
  type: fc.constant('reasoning'),
  summary: fc.constant([]),
  content: fc.array(fc.record({ type: fc.constant('reasoning_text'), text: fc.string() }), { maxLength: 2 }),
  encrypted_content: fc.constantFrom(null, 'gAAAforeign'),
});

interface Call {
  readonly call_id: string;
  readonly type: string;
}

/** A turn of calls with what stands around it: outputs come in any order, other items between them. */
const toolTurn = fc
  .record({
    calls: fc.uniqueArray(
      fc.oneof(
        fc.record({
          type: fc.constant('function_call'),
          call_id: fc.constantFrom('call_0', 'call_1', 'call_2', 'aB3dE6gH9'),
          name: fc.constantFrom('f', 'unknown'),
          arguments: fc.oneof(fc.constant(''), fc.json()),
        }),
        fc.record({
          type: fc.constant('custom_tool_call'),
          call_id: fc.constantFrom('call_0', 'call_3'),
          name: fc.constant('c'),
          input: fc.string(),
        }),
      ),
      { minLength: 1, maxLength: 4, selector: (call: Call) => call.call_id },
    ),
    between: fc.array(fc.oneof(message, reasoning), { maxLength: 2 }),
    outputs: fc.array(fc.oneof(fc.string(), fc.array(fc.oneof(textPart, imagePart, textFile), { maxLength: 2 })), {
      minLength: 4,
      maxLength: 4,
    }),
    order: fc.nat(),
  })
  .map(({ calls, between, outputs, order }) => {
    const turned = [...calls.slice(order % calls.length), ...calls.slice(0, order % calls.length)];
    const answers = turned.map(({ type, call_id }, index) => ({
      type: `${type}_output`,
      call_id,
      output: outputs[index],
    }));
    return [...calls, ...between, ...answers];
  });

const items = fc
  .array(
    fc.oneof(
      message.map((item) => [item]),
      reasoning.map((item) => [item]),
      toolTurn,
    ),
    { maxLength: 8 },
  )
  .map((groups) => [...groups.flat(), { role: 'user', content: 'x' }]);

const request = fc.record(
  {
    model: fc.constant('m'),
    input: fc.oneof(fc.string(), items),
    instructions: fc.option(fc.string()),
    tools: fc.subarray([
      { type: 'function', name: 'f', parameters: null, strict: true },
      { type: 'custom', name: 'c', description: 'C.' },
      { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f' }] },
      { type: 'web_search' },
    ]),
    tool_choice: fc.constantFrom(undefined, 'auto', 'none', null),
    parallel_tool_calls: fc.option(fc.boolean()),
    temperature: fc.option(fc.double({ min: 0, max: 2, noNaN: true })),
    max_output_tokens: fc.option(fc.integer({ min: 16, max: 100_000 })),
    stream: fc.option(fc.boolean()),
    text: fc.option(
      fc.record({
        format: fc.constantFrom(null, { type: 'text' }, { type: 'json_schema', name: 'n', schema: { type: 'object' } }),
        verbosity: fc.constantFrom(null, 'low', 'high'),
      }),
    ),
    reasoning: fc.option(fc.record({ effort: fc.constantFrom(null, 'none', 'minimal', 'low', 'high', 'max') })),
    metadata: fc.option(fc.dictionary(fc.string({ maxLength: 64 }), fc.string({ maxLength: 512 }), { maxKeys: 16 })),
    store: fc.constantFrom(false, null),
    user: fc.option(fc.string()),
  },
  { requiredKeys: ['model', 'input'] },
);

describe('any valid request', () => {
  it('becomes a body that keeps the Chat API’s rules, for every profile', () => {
    fc.assert(
      fc.property(request, profile, (body, name) => {
        const { chat } = translate(body, { profile: name });
        expect(faultsOfChat(JSON.parse(JSON.stringify(chat)))).toEqual([]);
      }),
      { numRuns: runs(1000) },
    );
  });

  it('becomes such a body even when calls or outputs are missing, where they are made up', () => {
    const settings = { orphanOutputs: 'synthesize', missingOutputs: 'synthesize' } as const;
    const broken = items.chain((whole) => fc.subarray(whole, { minLength: 1 }));
    fc.assert(
      fc.property(broken, profile, (input, name) => {
        const said = input.some((item) => !('type' in item && item.type === 'reasoning'));
        if (!said) return; // nothing but reasoning may be nothing at all
        const { chat } = translate({ model: 'm', input }, { profile: name, ...settings });
        expect(faultsOfChat(JSON.parse(JSON.stringify(chat)))).toEqual([]);
      }),
      { numRuns: runs(500) },
    );
  });

  it('keeps every word of the conversation, in order of the turns', () => {
    fc.assert(
      fc.property(
        // A blank turn of the assistant is left out: some servers refuse it.
        fc.array(
          fc.tuple(
            fc.constantFrom('user', 'assistant'),
            fc.string({ minLength: 1 }).map((text) => `${text}.`),
          ),
          {
            minLength: 1,
          },
        ),
        (turns) => {
          const { chat } = translate({ model: 'm', input: turns.map(([role, content]) => ({ role, content })) }, {});
          expect(chat.messages.map(({ role, content }) => [role, content])).toEqual(turns);
        },
      ),
    );
  });

  it('is not changed by being translated', () => {
    fc.assert(
      fc.property(request, profile, (body, name) => {
        const before = JSON.stringify(body);
        translate(body, { profile: name });
        expect(JSON.stringify(body)).toBe(before);
      }),
    );
  });

  it('is translated the same way twice', () => {
    fc.assert(
      fc.property(request, profile, (body, name) => {
        expect(translate(body, { profile: name }).chat).toEqual(translate(body, { profile: name }).chat);
      }),
    );
  });

  it('may carry any other field, at the top and in items, without failing', () => {
    const odd = fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty')),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(odd, odd, fc.constantFrom('forward', 'ignore'), (top, inItem, unknownFields) => {
        const body = { ...top, model: 'm', input: [{ ...inItem, type: 'message', role: 'user', content: 'x' }] };
        const known = run(() => translate(body, { unknownFields } as SettingsOverrides));
        if (known instanceof ApiError)
          expect(known.status).toBe(400); // a generated name can be one of the API’s own
        else expect(known.chat.messages).toEqual([{ role: 'user', content: 'x' }]);
        expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
      }),
    );
  });
});

describe('any JSON at all', () => {
  const fields = fc.constantFrom(
    'model',
    'input',
    'tools',
    'tool_choice',
    'text',
    'reasoning',
    'include',
    'metadata',
    'stream',
    'store',
    'temperature',
    'stream_options',
    'max_output_tokens',
    'instructions',
    'prompt',
    'service_tier',
  );
  const words = fc.constantFrom(
    'type',
    'role',
    'content',
    'name',
    'function',
    'custom',
    'namespace',
    'tools',
    'parameters',
    'call_id',
    'arguments',
    'output',
    'format',
    'schema',
    'effort',
    'user',
    'message',
    'function_call',
    'function_call_output',
    'reasoning',
    'summary',
    'input_text',
    'input_image',
    'text',
    'json_schema',
    'allowed_tools',
    'additional_tools',
    'item_reference',
    'id',
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      words,
      fc.constantFrom(null, true, false, 0, 1, -1, 1.5, 100, 1e300, -1e300, '', 'x'),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(words, tie('value'), { maxKeys: 5 }),
    ),
  }));
  const body = fc.oneof(
    value,
    fc.dictionary(fields, value, { maxKeys: 8 }),
    fc.record({ model: fc.constant('m'), input: fc.array(fc.dictionary(words, value, { maxKeys: 5 })) }),
  );

  it('is translated, or refused with an error that names a code', () => {
    fc.assert(
      fc.property(body, profile, (json, name) => {
        const outcome = run(() => translate(json, { profile: name }));
        if (outcome instanceof ApiError) {
          expect(outcome.status).toBe(400);
          expect(outcome.type).toBe('invalid_request');
          expect(outcome.code).toMatch(/^[a-z_]+$/);
          expect(outcome.message).not.toMatch(/undefined|\[object|NaN/);
          expect(() => JSON.parse(outcome.toJson())).not.toThrow();
        } else expect(faultsOfChat(JSON.parse(JSON.stringify(outcome.chat)))).toEqual([]);
      }),
      { numRuns: runs(3000) },
    );
  });
});

/** The result, or the `ApiError` thrown; anything else thrown is a fault. */
function run<Value>(act: () => Value): Value | ApiError {
  try {
    return act();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
}
