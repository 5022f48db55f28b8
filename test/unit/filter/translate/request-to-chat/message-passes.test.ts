import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyPasses,
  messagePasses as passes,
} from '../../../../../src/filter/translate/request-to-chat/passes/message-passes.ts';
import type { Profile } from '../../../../../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../../../../../src/filter/upstream/profiles.ts';
import type { ChatMessage } from '../../../../../src/filter/wire/schema/chat-request.ts';
import { faultsOfChat } from '../../../../support/chat-rules.ts';
import { runs } from '../../../../support/property-runs.ts';

const generic = builtInProfiles.get('generic')?.profile as Profile;
const messagePasses = passes.map(([run, appliesTo]) => ({ name: run.name, run, appliesTo }));
/** A server with no quirk but the one that every server has. */
const plain: Profile = { ...generic, developerRole: 'keep', systemMessages: 'anywhere' };

const call = (id: string, extra: object = {}) =>
  ({ id, type: 'function', function: { name: `f_${id}`, arguments: '{}' }, ...extra }) as const;
type Content = NonNullable<ChatMessage['content']> | null;
const user = (content: Content): ChatMessage => ({ role: 'user', content });
const assistant = (content: Content, more: Partial<ChatMessage> = {}): ChatMessage => ({
  role: 'assistant',
  content,
  ...more,
});
const system = (content: string): ChatMessage => ({ role: 'system', content });
const developer = (content: Content): ChatMessage => ({ role: 'developer', content });
const tool = (id: string, content: Content = 'ok'): ChatMessage => ({
  role: 'tool',
  tool_call_id: id,
  content,
});
const calling = (...ids: string[]) => assistant(null, { tool_calls: ids.map((id) => call(id)) });
const pieces = ['e', 'f'].map((text) => ({ type: 'text', text }) as const);
const image = { type: 'image_url', image_url: { url: 'https://a.test/b.png' } } as const;
const unsigned = { google: { thought_signature: 'skip_thought_signature_validator' } };

interface PassCase {
  readonly flags: Partial<Profile>;
  readonly before: readonly ChatMessage[];
  readonly after: readonly ChatMessage[];
}

const cases: Readonly<Record<string, PassCase>> = {
  leaveOutOldReasoning: {
    flags: { reasoningScope: 'tool_turns', reasoningReplay: 'reasoning' },
    before: [user('a'), assistant('b', { reasoning: 'r' }), user('c'), assistant('d', { reasoning: 's' })],
    after: [user('a'), assistant('b'), user('c'), assistant('d', { reasoning: 's' })],
  },
  signFirstCall: {
    flags: { geminiSignatures: true },
    before: [calling('1', '2'), tool('1'), tool('2')],
    after: [assistant(null, { tool_calls: [call('1', { extra_content: unsigned }), call('2')] }), tool('1'), tool('2')],
  },
  leaveOutEmptyMessages: {
    flags: {},
    before: [
      ...[user('a'), assistant(''), assistant(' \n'), assistant(null), assistant([{ type: 'text', text: '' }])],
      ...[user('b'), assistant('', { reasoning: 'r' }), user('c'), assistant('', { refusal: 'No.' }), user('d')],
    ],
    after: [
      ...[user('a'), user('b'), assistant('', { reasoning: 'r' }), user('c'), assistant('', { refusal: 'No.' })],
      user('d'),
    ],
  },
  rewriteCallIds: {
    flags: { callIdForm: 'alphanumeric_9' },
    before: [calling('aB3dE6gH9'), tool('aB3dE6gH9'), { ...calling('call_1') }, tool('call_1')],
    after: [
      calling('aB3dE6gH9'),
      tool('aB3dE6gH9'),
      assistant(null, { tool_calls: [{ ...call('call_1'), id: '2ZxtuOiTe' }] }),
      tool('2ZxtuOiTe'),
    ],
  },
  nameToolMessages: {
    flags: { toolMessageName: true },
    before: [calling('1', '2'), tool('1'), tool('2')],
    after: [calling('1', '2'), { ...tool('1'), name: 'f_1' }, { ...tool('2'), name: 'f_2' }],
  },
  moveToolMedia: {
    flags: {},
    before: [calling('1', '2'), tool('1', [image]), tool('2', [{ type: 'text', text: 'seen' }, image]), user('so?')],
    after: [
      calling('1', '2'),
      tool('1', '[image attached below]'),
      tool('2', 'seen'),
      user([
        { type: 'text', text: 'Output of tool call 1:' },
        image,
        { type: 'text', text: 'Output of tool call 2:' },
        image,
      ]),
      user('so?'),
    ],
  },
  renameDeveloperRole: {
    flags: { developerRole: 'system' },
    before: [developer('a'), user('b')],
    after: [system('a'), user('b')],
  },
  mergeSystemMessages: {
    flags: { systemMessages: 'leading_only' },
    before: [system('a'), system('b'), user('c'), system('d'), developer(pieces), developer(null)],
    after: [
      system('a\n\nb'),
      user('c'),
      user('Developer instructions:\nd'),
      user('Developer instructions:\nef'),
      user('Developer instructions:\n'),
    ],
  },
  splitCalls: {
    flags: { singleCalls: true },
    before: [assistant('look', { tool_calls: [call('1'), call('2'), call('3')] }), tool('1'), tool('2'), tool('3')],
    after: [
      assistant('look', { tool_calls: [call('1')] }),
      tool('1'),
      calling('2'),
      tool('2'),
      calling('3'),
      tool('3'),
    ],
  },
  fillNullContent: {
    flags: { emptyAssistantContent: 'empty' },
    before: [calling('1'), tool('1'), assistant(null, { refusal: 'no' })],
    after: [assistant('', { tool_calls: [call('1')] }), tool('1'), assistant(null, { refusal: 'no' })],
  },
  insertAssistantAfterTool: {
    flags: { assistantAfterTool: true },
    before: [calling('1'), tool('1'), user('a')],
    after: [calling('1'), tool('1'), assistant('.'), user('a')],
  },
  alternateRoles: {
    flags: { alternateRoles: true },
    before: [user('a'), user([image]), user('b'), assistant('c', { reasoning: 'r' }), calling('1'), tool('1')],
    after: [
      user([{ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' }]),
      assistant('c', { reasoning: 'r', tool_calls: [call('1')] }),
      tool('1'),
    ],
  },
  beginWithUser: {
    flags: { alternateRoles: true },
    before: [system('a'), assistant('b'), user('c')],
    after: [system('a'), user('.'), assistant('b'), user('c')],
  },
  addUser: {
    flags: { needsUser: true },
    before: [system('a'), assistant('b')],
    after: [system('a'), user('.'), assistant('b')],
  },
  fillSilentAssistant: {
    flags: { alternateRoles: true },
    before: [user('a'), assistant(''), user('b')],
    after: [user('a'), assistant('.'), user('b')],
  },
  markPrefix: {
    flags: { assistantPrefix: true },
    before: [assistant('a'), user('b'), assistant('c')],
    after: [assistant('a'), user('b'), assistant('c', { prefix: true })],
  },
  fillInReasoning: {
    flags: { reasoningBackfill: { text: ' ', on: 'calls' }, reasoningReplay: 'reasoning_content' },
    before: [assistant('a'), calling('1'), tool('1')],
    after: [assistant('a'), { ...calling('1'), reasoning_content: ' ' }, tool('1')],
  },
};

function caseOf(name: string): PassCase {
  const found = cases[name];
  if (found === undefined) throw new Error(`the pass ${name} has no case here`);
  return found;
}

describe.each(messagePasses)('the pass $name', (pass) => {
  const { flags, before, after } = caseOf(pass.name);
  const profile: Profile = { ...plain, ...flags };

  it('is one quirk, and does that alone', () => {
    expect(pass.appliesTo(profile)).toBe(true);
    expect(pass.run(before, profile)).toEqual(after);
  });

  it('finds nothing left to do where it has been', () => {
    expect(pass.run(after, profile)).toEqual(after);
  });

  it('does not change what it is given', () => {
    const frozen = JSON.stringify(before);
    pass.run(before, profile);
    expect(JSON.stringify(before)).toBe(frozen);
  });
});

it('a pass that the profile does not ask for is not run', () => {
  const run = (profile: Profile) => messagePasses.filter((pass) => pass.appliesTo(profile)).map(({ name }) => name);
  expect(run(plain)).toEqual(['leaveOutEmptyMessages', 'moveToolMedia', 'fillSilentAssistant']);
  expect(run(generic)).toEqual([
    'leaveOutEmptyMessages',
    'moveToolMedia',
    'renameDeveloperRole',
    'mergeSystemMessages',
    'fillSilentAssistant',
  ]);
});

const flagValues = {
  alternateRoles: fc.boolean(),
  needsUser: fc.boolean(),
  singleCalls: fc.boolean(),
  assistantAfterTool: fc.boolean(),
  assistantPrefix: fc.boolean(),
  callIdForm: fc.constantFrom('any', 'any_40', 'word_64', 'alphanumeric_9', 'functions.NAME:N', 'NAME:N'),
  toolMessageName: fc.boolean(),
  geminiSignatures: fc.boolean(),
  developerRole: fc.constantFrom('keep', 'system'),
  systemMessages: fc.constantFrom('anywhere', 'merge_leading', 'leading_only'),
  emptyAssistantContent: fc.constantFrom('null', 'empty'),
  reasoningReplay: fc.constantFrom('none', 'reasoning_content', 'reasoning'),
  reasoningScope: fc.constantFrom('all', 'tool_turns'),
  reasoningBackfill: fc.constantFrom(null, { text: ' ', on: 'all' }, { text: ' ', on: 'calls' }),
};
const flags = fc.record(flagValues, { requiredKeys: [] }) as fc.Arbitrary<Partial<Profile>>;

it('every flag that a pass reads is varied below', () => {
  const read = new Set<string>();
  for (const pass of messagePasses) {
    const { flags: own, before } = caseOf(pass.name);
    const profile = new Proxy<Profile>(
      { ...plain, ...own },
      {
        get(target, name) {
          read.add(String(name));
          return target[name as keyof Profile];
        },
      },
    );
    if (pass.appliesTo(profile)) pass.run(before, profile);
  }
  expect([...read].filter((name) => !(name in flagValues))).toEqual([]);
});

const content = fc.constantFrom('', 'a', 'b c');
const turns: fc.Arbitrary<ChatMessage[]> = fc
  .array(
    fc.oneof(
      fc.constantFrom(system('s'), developer('d'), user('u'), user([image])).map((message) => [message]),
      content.map((text) => [assistant(text)]),
      fc.tuple(content, fc.nat(2), fc.boolean()).map(([text, more, withImage]) => {
        const ids = Array.from({ length: more + 1 }, (_, index) => `call_${index}`);
        const outputs = ids.map((id) => tool(id, withImage ? [image] : 'ok'));
        return [assistant(text === '' ? null : text, { tool_calls: ids.map((id) => call(id)) }), ...outputs];
      }),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((groups) => groups.flat());

/** What the flags promise of the messages, a line per broken promise. */
function brokenPromises(messages: readonly ChatMessage[], profile: Profile): string[] {
  const broken: string[] = [];
  const roles = messages.map(({ role }) => role);
  const isSystem = (role: string | undefined) => role === 'system' || role === 'developer';
  if (profile.needsUser && !roles.includes('user')) broken.push('no message is the user’s');
  if (profile.systemMessages === 'leading_only' && roles.slice(1).some(isSystem)) broken.push('system is not alone');
  if (profile.developerRole === 'system' && roles.includes('developer')) broken.push('developer is unknown');
  for (const [index, message] of messages.entries()) {
    const { role, content: said, tool_calls: calls } = message;
    const before = roles[index - 1];
    const after = roles[index + 1];
    if (profile.singleCalls && (calls?.length ?? 0) > 1) broken.push(`${index} has several calls`);
    if (
      profile.assistantAfterTool &&
      role === 'tool' &&
      after !== undefined &&
      after !== 'assistant' &&
      after !== 'tool'
    )
      broken.push(`${after} after a tool`);
    if (!profile.alternateRoles) continue;
    if ((role === 'user' || role === 'assistant') && before === role) broken.push(`${index} repeats ${role}`);
    if (role === 'assistant' && !roles.slice(0, index).includes('user')) broken.push(`${index} answers nobody`);
    if (role === 'assistant' && calls === undefined && !said) broken.push(`${index} says nothing`);
  }
  return broken;
}

it('after the last pass every promise of the profile is kept, and calls and outputs are still pairs', () => {
  fc.assert(
    fc.property(turns, flags, (messages, chosen) => {
      const profile = { ...plain, ...chosen };
      const written = applyPasses(messages, profile);
      expect(brokenPromises(written, profile)).toEqual([]);
      expect(faultsOfChat({ model: 'm', messages: JSON.parse(JSON.stringify(written)) })).toEqual([]);
    }),
    { numRuns: runs(3000) },
  );
});
