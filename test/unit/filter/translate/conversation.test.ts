import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StreamTranslator } from '../../../../src/filter/translate/chat-to-response/stream.ts';
import type { ResponseContext } from '../../../../src/filter/translate/shared/context.ts';
import { translateRequest } from '../../../../src/filter/translate/translate-request.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import type { ChatMessage } from '../../../../src/filter/wire/schema/chat-request.ts';
import { faultsOfChat } from '../../../support/chat-rules.ts';
import { createCountedIds } from '../../../support/context.ts';
import { profilesWithTools } from '../../../support/profiles-with-tools.ts';
import { createTestSettings } from '../../../support/settings.ts';

/**
 * Several turns through streams: the upstream numbers its calls from zero in every turn, as Kimi and Ollama do, and a
 * client that stores nothing sends all of it back each time.
 */
const tools = [
  { type: 'function', name: 'look' },
  { type: 'custom', name: 'patch' },
  { type: 'function', name: 'mcp__chrome_devtools_mcp_chrome_devtools_performance_analyze_insight' },
  {
    type: 'namespace',
    name: 'mcp__a_server_whose_name_is_much_too_long',
    tools: [{ type: 'function', name: 'read_the_file' }],
  },
];

interface Turn {
  readonly content: string | null;
  readonly reasoning: string | null;
  readonly calls: readonly { readonly tool: number; readonly payload: string }[];
  /** Does the client put outputs in the order of the calls? */
  readonly inOrder: boolean;
  /** Does the client keep ids and statuses of items? */
  readonly keepsIds: boolean;
}

/** Not `.` alone: that is what Mistral is told between a tool and a user. */
const words = fc.string({ minLength: 1, maxLength: 12 }).filter((value) => !['', '.'].includes(value.trim()));
const turn: fc.Arbitrary<Turn> = fc.record({
  content: fc.option(words),
  reasoning: fc.option(words),
  calls: fc.array(fc.record({ tool: fc.nat(3), payload: fc.string({ maxLength: 8 }) }), { maxLength: 3 }),
  inOrder: fc.boolean(),
  keepsIds: fc.boolean(),
});

type Item = Record<string, unknown>;

/** What the upstream says in a turn; never nothing. */
function messageOf({ content, calls }: Turn, { toolNames, restoredTools, profile }: ResponseContext): ChatMessage {
  const names = [...toolNames];
  const tool_calls = calls.map(({ tool, payload }, index) => {
    const name = names[tool] ?? '';
    const id = `call_${String(index)}`;
    if (restoredTools.get(name)?.kind !== 'custom') {
      return { id, type: 'function' as const, function: { name, arguments: JSON.stringify({ payload }) } };
    }
    return profile.customTools === 'native'
      ? { id, type: 'custom' as const, custom: { name, input: payload } }
      : { id, type: 'function' as const, function: { name, arguments: JSON.stringify({ input: payload }) } };
  });
  const text = content ?? (tool_calls.length === 0 ? 'Hm.' : null);
  return { role: 'assistant', content: text, ...(tool_calls.length > 0 && { tool_calls }) };
}

/** The output items of a turn that came as a stream, as the client has them from the terminal event. */
function outputOf({ content, tool_calls }: ChatMessage, reasoning: string | null, context: ResponseContext): Item[] {
  const translator = new StreamTranslator(context);
  const push = (delta: object) => translator.push({ choices: [{ index: 0, delta }] });
  if (reasoning !== null) push({ reasoning_content: reasoning });
  for (const letter of typeof content === 'string' ? content : '') push({ content: letter });
  for (const [index, call] of (tool_calls ?? []).entries()) push({ tool_calls: [{ index, ...call }] });
  push({});
  const end = translator.finish('done').at(-1);
  if (end === undefined || !('response' in end)) throw new Error('the stream did not end in a response');
  return JSON.parse(JSON.stringify(end.response.output));
}

/** What a client sends of one turn in all later ones. */
function historyOf(output: readonly Item[], { inOrder, keepsIds }: Turn, index: number): Item[] {
  const items = keepsIds ? output : output.map(({ id: _, status: __, ...item }) => item);
  const outputs = output
    .filter(({ call_id }) => call_id !== undefined)
    .map(({ type, call_id }) => ({ type: `${String(type)}_output`, call_id, output: `done ${String(index)}` }));
  return [
    ...items,
    ...(inOrder ? outputs : outputs.toReversed()),
    { role: 'user', content: `question ${String(index)}` },
  ];
}

/** A message by what it says, whatever form the profile has for it. */
function saidIn({ content, tool_calls }: ChatMessage): unknown {
  const text = Array.isArray(content)
    ? content.map((part) => ('text' in part && typeof part.text === 'string' ? part.text : '')).join('')
    : content;
  const calls = (tool_calls ?? []).map(({ id: _, extra_content: __, ...call }) => call);
  return { text: text || null, calls };
}

describe('a conversation of several turns', () => {
  it.each(profilesWithTools)('is the one the upstream had, for %s', (name) => {
    const settings = createTestSettings({ profile: name });
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 3 }), (turns) => {
        const clock = { now: () => 1, newId: createCountedIds() };
        const input: Item[] = [{ role: 'user', content: 'Hi' }];
        const ask = () =>
          translateRequest({ model: 'm', include: ['reasoning.encrypted_content'], tools, input }, settings, clock);
        const said: ChatMessage[] = [];
        for (const [index, current] of turns.entries()) {
          const { context } = ask();
          const message = messageOf(current, context);
          said.push(message);
          input.push(...historyOf(outputOf(message, current.reasoning, context), current, index));
        }
        const { messages } = ask().chat;
        expect(faultsOfChat({ model: 'm', messages: JSON.parse(JSON.stringify(messages)) })).toEqual([]);
        const spoken = messages.filter(({ role, content }) => role === 'assistant' && content !== '.');
        expect(spoken.map(saidIn)).toEqual(said.map(saidIn));
        if (
          builtInProfiles.get(name)?.profile.reasoningReplay === 'reasoning_content' &&
          builtInProfiles.get(name)?.profile.reasoningBackfill === null
        ) {
          expect(spoken.map(({ reasoning_content }) => reasoning_content ?? null)).toEqual(
            turns.map(({ reasoning }) => reasoning),
          );
        }
      }),
      { numRuns: 40 },
    );
  });
});
