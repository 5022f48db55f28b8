import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rewriteCallIds } from '../../../../../src/filter/translate/request-to-chat/passes/rewrite-call-ids.ts';
import type { Profile } from '../../../../../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../../../../../src/filter/upstream/profiles.ts';
import type { ChatMessage } from '../../../../../src/filter/wire/schema/chat-request.ts';

type Form = Exclude<Profile['callIdForm'], 'any'>;

/** What an id of each form is, by the name of the called function. */
const isOf: Readonly<Record<Form, (id: string, name: string) => boolean>> = {
  any_40: (id) => id.length <= 40,
  word_64: (id) => /^[a-zA-Z0-9_-]{1,64}$/.test(id),
  alphanumeric_9: (id) => /^[a-zA-Z0-9]{9}$/.test(id),
  'functions.NAME:N': (id, name) => id.replace(/\d+$/, '') === `functions.${name}:`,
  'NAME:N': (id, name) => id.replace(/\d+$/, '') === `${name}:`,
};
const forms = Object.keys(isOf) as Form[];

function rewritten(messages: readonly ChatMessage[], callIdForm: Form): readonly ChatMessage[] {
  return rewriteCallIds(messages, { ...(builtInProfiles.get('generic')?.profile as Profile), callIdForm });
}

function callsOf(messages: readonly ChatMessage[]) {
  return messages.flatMap(({ tool_calls = [] }) => tool_calls);
}

/** A turn of calls with their outputs, which say whose they are. */
function turnOf(calls: readonly { readonly id: string; readonly name: string }[]): ChatMessage[] {
  const distinct = calls.filter(({ id }, index) => calls.findIndex((other) => other.id === id) === index);
  return [
    { role: 'user', content: 'x' },
    {
      role: 'assistant',
      content: null,
      tool_calls: distinct.map(({ id, name }) => ({ id, type: 'function', function: { name, arguments: '{}' } })),
    },
    ...distinct.map(({ id, name }): ChatMessage => ({ role: 'tool', tool_call_id: id, content: name })),
  ];
}

const name = fc.constantFrom('f', 'g', 'read_the_file');
const id = fc.oneof(
  fc.constantFrom('call_0', 'call_1', 'aB3dE6gH9', 'functions.f:0', 'functions.f:1', 'f:0', 'g:7', 'toolu_01', 'f:1e3'),
  fc.string({ minLength: 1, maxLength: 70 }),
);
const history = fc.array(fc.array(fc.record({ id, name }), { minLength: 1, maxLength: 3 }).map(turnOf), {
  minLength: 1,
  maxLength: 8,
});

describe.each(forms)('ids of the form %s', (form) => {
  it('are of that form and different, whatever they were, and each output is with its call', () => {
    fc.assert(
      fc.property(history, (turns) => {
        const messages = rewritten(turns.flat(), form);
        const calls = callsOf(messages);
        for (const call of calls) {
          if (call.type === 'function') expect(isOf[form](call.id, call.function.name), call.id).toBe(true);
        }
        expect(new Set(calls.map((call) => call.id)).size).toBe(calls.length);
        const outputs = messages.filter(({ role }) => role === 'tool');
        expect(outputs.map(({ tool_call_id, content }) => [tool_call_id, content])).toEqual(
          calls.map((call) => [call.id, call.type === 'function' && call.function.name]),
        );
      }),
    );
  });

  it('stay the same when the conversation grows', () => {
    fc.assert(
      fc.property(history, fc.nat(8), (turns, count) => {
        const earlier = turns.slice(0, count).flat();
        expect(rewritten(turns.flat(), form).slice(0, earlier.length)).toEqual(rewritten(earlier, form));
      }),
    );
  });

  it('stay where they are such already', () => {
    const own = { any_40: 'a:b', word_64: 'toolu_01', alphanumeric_9: 'aB3dE6gH9' } as Partial<Record<Form, string>>;
    const given = own[form] ?? `${form.replace('NAME:N', '')}f:12`;
    expect(callsOf(rewritten(turnOf([{ id: given, name: 'f' }]), form)).map((call) => call.id)).toEqual([given]);
  });
});
