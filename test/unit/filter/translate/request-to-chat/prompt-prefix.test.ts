import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { builtInProfiles } from '../../../../../src/filter/upstream/profiles.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { createTestSettings } from '../../../../support/settings.ts';

/**
 * A server's cache holds the beginning of a prompt, byte for byte: what is sent in one turn must be the beginning of what is
 * sent in the next. The conversation is one that changed its model several times, so that nothing of it has the form that
 * the next server wants.
 */
const tools = [
  { type: 'function', name: 'look' },
  { type: 'custom', name: 'patch' },
  { type: 'namespace', name: 'mcp__files', tools: [{ type: 'function', name: 'read' }] },
];

/** The ids of two calls, as servers make them; those that number their calls begin anew in each turn. */
const idForms: readonly ((turn: number) => readonly [string, string])[] = [
  (turn) => [`call_${turn}aB3dE6gH9kL2mN5pQ8rS1tU4v`, `call_${turn}bB3dE6gH9kL2mN5pQ8rS1tU4v`],
  () => ['functions.look:0', 'functions.patch:1'],
  (turn) => [`toolu_01${turn}`, `toolu_02${turn}`],
  (turn) => [
    `gateway-${turn}aa6db90-1b84-4155-9f32-f658c97d6b1b`,
    `gateway-${turn}ba6db90-1b84-4155-9f32-f658c97d6b1b`,
  ],
  () => ['call_0', 'call_1'],
];

function turnOf(turn: number): object[] {
  const [first, second] = idForms[turn % idForms.length]?.(turn) ?? ['', ''];
  const isRead = turn % 2 === 0;
  return [
    { role: 'user', content: `question ${turn}` },
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: `thought ${turn}` }] },
    { role: 'assistant', content: `so ${turn}` },
    {
      type: 'function_call',
      call_id: first,
      ...(isRead ? { name: 'read', namespace: 'mcp__files' } : { name: 'look' }),
      arguments: '{}',
    },
    { type: 'custom_tool_call', call_id: second, name: 'patch', input: `p${turn}` },
    { type: 'custom_tool_call_output', call_id: second, output: 'done' },
    { type: 'function_call_output', call_id: first, output: `seen ${turn}` },
  ];
}

const turns = 10;

/** The prompts of ten turns: tools, then messages, as the server reads them. */
function promptsOf(profile: string, model: string): string[] {
  const settings = createTestSettings({ profile });
  return Array.from({ length: turns }, (_, last) => {
    const input = Array.from({ length: last + 1 }, (_turn, turn) => turnOf(turn)).flat();
    const spoken = input.filter((item) => !('call_id' in item));
    const request = builtInProfiles.get(profile)?.profile.tools ? { tools, input } : { input: spoken };
    const { chat } = translateRequest({ model, instructions: 'Be brief.', ...request }, settings, {
      now: () => 1,
      newId: createCountedIds(),
    });
    return JSON.stringify([chat.tools, ...chat.messages]).slice(0, -1);
  });
}

/** How many of the prompts are the beginning of the next. */
function keptBy(profile: string, model: string): number {
  const prompts = promptsOf(profile, model);
  return prompts.filter((prompt, index) => prompts[index + 1]?.startsWith(prompt)).length;
}

describe.each(['some-model', 'anthropic/claude-opus-5', 'moonshotai/Kimi-K2.7-Code', 'kimi-k3', 'mistral-large'])(
  'over ten turns of %s',
  (model) => {
    it.each([...builtInProfiles.keys()])('each prompt for %s is the beginning of the next', (profile) => {
      // Groq's models ignore reasoning that is older than the last question, so it is left out then.
      expect(keptBy(profile, model)).toBe(profile === 'groq' ? 0 : turns - 1);
    });
  },
);
