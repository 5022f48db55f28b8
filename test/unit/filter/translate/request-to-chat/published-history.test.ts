import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { chatRequestBody } from '../../../../../src/filter/wire/schema/chat-request.ts';
import { faultsOfChat } from '../../../../support/chat-rules.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { variantsOfPublished } from '../../../../support/published-types.ts';
import { createTestSettings } from '../../../../support/settings.ts';

/**
 * An agent repeats its whole history in each request, so that one item which is refused ends its session. Every item that
 * the `openai` package has a type for, with each of its fields null, absent and set and with every content part, is
 * translated, or left out and named; what is refused all the same is listed here with its reason.
 */
interface Refusal {
  readonly message: RegExp;
  readonly reason: string;
  /** Refused only in the messages of the user's that end the input. */
  readonly isWish: boolean;
}
const withoutIt = 'Without it the model would answer about nothing.';
const refused: readonly Refusal[] = [
  {
    message: /^Item 'text' cannot be found: nothing is stored here/,
    reason: 'Only a server with a store has the item, and nobody knows what the conversation was.',
    isWish: false,
  },
  {
    message: /is not allowed in a message of role '(assistant|system|developer)'/,
    reason: 'A mistake: the API itself takes it from users and tools alone, and writes no such history.',
    isWish: false,
  },
  { message: /a 'compaction_trigger' must be the last item/, reason: 'It asks for something now.', isWish: false },
  { message: /^Approvals are for MCP servers/, reason: 'Nothing here makes the call that it approves.', isWish: true },
  { message: /^Uploaded files are not stored here/, reason: withoutIt, isWish: true },
  { message: /does not accept files of type/, reason: withoutIt, isWish: true },
  { message: /does not accept files by URL/, reason: withoutIt, isWish: true },
];

type Item = Readonly<Record<string, unknown>>;

const variants = variantsOfPublished('ResponseInputItem').map(({ what, value }) => ({ what, item: value as Item }));
const types = [...new Set(variants.map(({ item }) => String(item['type'])))];

const calls = ['function_call', 'custom_tool_call', 'shell_call', 'local_shell_call', 'apply_patch_call'];
const callOfOutput = new Map(calls.map((type) => [`${type}_output`, type]));

/** The item with the call or the output that belongs to it. */
function paired(item: Item): readonly Item[] {
  const { name, namespace } = item;
  const type = String(item['type']);
  const callId = item['call_id'] ?? (type === 'local_shell_call_output' ? item['id'] : 'text');
  if (calls.includes(type)) return [item, { type: 'function_call_output', call_id: callId, output: 'ok' }];
  if (callOfOutput.has(type))
    return [{ type: 'function_call', call_id: callId, name: name ?? 'text', namespace, arguments: '{}' }, item];
  if (type === 'tool_search_call' && item['call_id'] != null)
    return [item, { type: 'tool_search_output', call_id: callId, tools: [] }];
  if (type === 'tool_search_output' && item['call_id'] != null)
    return [{ type: 'tool_search_call', call_id: callId, arguments: {} }, item];
  return [item];
}

const ask = { role: 'user', content: 'Hi' };
const earlier = [
  { role: 'developer', content: 'Be brief.' },
  ask,
  { type: 'reasoning', summary: [] },
  { type: 'function_call', call_id: 'earlier', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'earlier', output: 'ok' },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Yes.', annotations: [] }] },
];

interface Outcome {
  readonly body: unknown;
  /** What the request became, and what is named as left out, as one text. */
  readonly text: string;
}

function translate(input: readonly unknown[], profile: string): Outcome | ApiError {
  const clock = { now: () => 1, newId: createCountedIds() };
  try {
    const { chat, passthrough, dropped, context } = translateRequest(
      { model: 'm', input },
      createTestSettings({ profile }),
      clock,
    );
    const json = JSON.stringify(chatRequestBody(chat, passthrough));
    return { body: JSON.parse(json), text: JSON.stringify([json, dropped, context.echo]) };
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
}

/** Where the item stands in its request: what is before and after it. */
const answered = { type: 'message', role: 'assistant', content: 'Yes.' };
const places = {
  'at the end': { before: [ask], after: [], isNow: true },
  'before a question': { before: earlier, after: [answered, { role: 'user', content: 'And now?' }], isNow: false },
};

/**
 * Variants that ask for nothing, or say nothing (an empty message of the assistant; a search of which its output says all), of which
 * nothing can become.
 */
const silent =
  /^ (message\.content: \[\]|tool_search_call( without call_id|\.call_id: null)|additional_tools\.tools(\[0\] namespace\.tools)?: \[\]|configuration_update( without reasoning|\.reasoning( without effort|\.effort: null)))$/;

describe.each(['generic', 'openai', 'openrouter', 'mistral'])('for %s', (profile) => {
  describe.each(Object.entries(places))('%s', (_, { before, after, isNow }) => {
    const without = translate([...before, ...after], profile);

    it.each(types)('no item of type %s ends a session, and none vanishes', (type) => {
      const wrong: string[] = [];
      for (const { what, item } of variants.filter((variant) => String(variant.item['type']) === type)) {
        const outcome = translate([...before, ...paired(item), ...after], profile);
        if (outcome instanceof ApiError) {
          const isListed = refused.some(({ message, isWish }) => (isNow || !isWish) && message.test(outcome.message));
          if (!isListed) wrong.push(`${what}: ${outcome.message}`);
          continue;
        }
        wrong.push(...faultsOfChat(outcome.body).map((fault) => `${what}: ${fault}`));
        if (without instanceof ApiError) throw without;
        if (outcome.text === without.text && !silent.test(what)) wrong.push(`${what} vanished`);
      }
      expect(wrong).toEqual([]);
    });
  });
});

it('covers every type, and far more variants than types', () => {
  expect(types.length).toBeGreaterThanOrEqual(28);
  expect(variants.length).toBeGreaterThanOrEqual(1000);
});

it('each of the refusals is one that occurs', () => {
  const asked = variants.flatMap(({ item }) => ('role' in item ? [item, { ...item, role: 'user' }] : [item]));
  const outcomes = asked.flatMap((item) =>
    ['generic', 'openai'].map((profile) => translate([ask, ...paired(item), ask], profile)),
  );
  const said = outcomes.flatMap((outcome) => (outcome instanceof ApiError ? [outcome.message] : []));
  expect(refused.filter(({ message }) => !said.some((one) => message.test(one)))).toEqual([]);
});
