import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  isErrorReason,
  isNormalEnd,
  readOutcome,
} from '../../../../../../src/filter/translate/chat-to-response/read/finish.ts';

const nothing = { hasAnswer: () => false, hasCutCall: () => false };
const doc = readFileSync(new URL('../../../../../../docs/answers.md', import.meta.url), 'utf8');
const [, section = ''] = /^### 1\.6 .*?$(.*?)^### /ms.exec(doc) ?? [];
/** Each row of the documentation's table that names reasons, with what it says they mean. */
const rows = [...section.matchAll(/^\| (.*`.*) \| (.*) \|$/gm)]
  .filter(([, reasons]) => reasons !== '`finish_reason`')
  .map(([, reasons = '', meaning = '']) => ({ meaning, reasons: reasons.match(/(?<=`)\w+(?=`)/g) ?? [] }));

/** What an answer without output that ends so is, in the table's words. */
function meaningOf(reason: string): string {
  const outcome = readOutcome(reason, nothing);
  if (outcome.status === 'failed') return `failed, \`${outcome.error.code}\``;
  return outcome.status === 'incomplete' ? `incomplete, \`${outcome.reason}\`` : 'completed';
}

describe('a finish reason means what the documentation says, also without any output', () => {
  test('for seven groups of reasons', () => expect(rows).toHaveLength(7));

  test.each(rows)('$meaning', ({ meaning, reasons }) => {
    expect(reasons.length).toBeGreaterThan(0);
    for (const reason of reasons) {
      const expected = meaning.replace('with that code', `\`${reason}\``).replace("with the upstream's error or ", '');
      expect(expected, reason).toContain(meaningOf(reason));
      expect(isNormalEnd(reason), reason).toBe(meaning === 'completed');
    }
  });

  test.each([
    ['error', 'model_error'],
    ['malformed_function_call', 'model_error'],
    ['abort', 'server_error'],
    ['insufficient_system_resource', 'server_error'],
    ['repetition', 'model_error'],
    ['network_error', 'model_error'],
    ['an unknown one', 'model_error'],
  ])('%s is an error of type %s', (reason, type) => {
    expect(readOutcome(reason, nothing)).toMatchObject({ status: 'failed', error: { status: 502, type } });
  });
});

test('a reason that nobody knows is repeated up to 64 characters', () => {
  const messageFor = (reason: string) => {
    const outcome = readOutcome(reason, nothing);
    return outcome.status === 'failed' ? outcome.error.message : '';
  };
  expect(messageFor('x'.repeat(64))).toContain(`“${'x'.repeat(64)}”`);
  expect(messageFor('x'.repeat(65))).toContain('“…”');
});

test('a reason that nobody knows is a normal end, so that the one of another choice counts', () => {
  expect(isNormalEnd('an unknown one')).toBe(true);
});

test('an error is one in any case, with spaces, and with what a proxy writes beside it', () => {
  for (const reason of ['error', ' ERROR ', 'error: overloaded', 'stop: error'])
    expect(isErrorReason(reason), reason).toBe(true);
  for (const reason of ['stop', 'error_limit', 'malformed_response', 'errors'])
    expect(isErrorReason(reason), reason).toBe(false);
});
