import { expect, it } from 'vitest';
import { addUser } from '../../../../../src/filter/translate/request-to-chat/passes/alternate-roles.ts';

const said = (...roles: readonly ('system' | 'developer' | 'user' | 'assistant')[]) =>
  roles.map((role) => ({ role, content: 'x' }));

it.each([
  [said('system', 'assistant'), ['system', 'user', 'assistant']],
  [said('developer', 'assistant'), ['developer', 'user', 'assistant']],
  [said('assistant', 'developer'), ['user', 'assistant', 'developer']],
  [said('assistant', 'system'), ['user', 'assistant', 'system']],
  [said('assistant', 'user'), ['assistant', 'user']],
  [[], []],
])('a user is added behind the leading instructions, unless there is one: %j', (messages, roles) => {
  expect(addUser(messages).map(({ role }) => role)).toEqual(roles);
});
