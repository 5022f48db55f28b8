import { expect, it } from 'vitest';
import { translateMessages } from '../../../../../src/filter/translate/request-to-chat/items-to-messages.ts';
import { createToolTable } from '../../../../../src/filter/translate/request-to-chat/tools-to-chat.ts';
import { Dropped } from '../../../../../src/filter/translate/shared/dropped.ts';
import { Growth } from '../../../../../src/filter/translate/shared/growth.ts';
import { userMessage } from '../../../../../src/filter/translate/shared/parsed.ts';
import { nothingRecorded } from '../../../../../src/filter/translate/shared/provenance.ts';
import { createTestSettings } from '../../../../support/settings.ts';

const MiB = 1024 * 1024;
const text = (length: number) => 'x'.repeat(length - 2);

it('a request may become a mebibyte, however short it is, and eight times its length besides', () => {
  const short = new Growth('');
  short.add(text(MiB), 'input');
  const came = text(1000);
  const longer = new Growth(came);
  longer.add(text(MiB), 'tools[0]');
  for (let part = 0; part < 8; part += 1) longer.add(came, 'input');
  expect(() => longer.add(0, 'input')).toThrow(
    expect.objectContaining({ status: 400, code: 'invalid_value', param: 'input' }),
  );
});

const settings = createTestSettings();
const reading = { settings, dropped: new Dropped(nothingRecorded), provenance: nothingRecorded };

it('messages that repeat a text are refused as they are made, and what else follows is not', () => {
  const growth = new Growth('');
  const table = createToolTable([], reading, growth);
  let made = 0;
  const items = Array.from({ length: 5000 }, () => ({
    ...userMessage('x'.repeat(MiB / 4)),
    get content() {
      made += 1;
      return userMessage('x'.repeat(MiB / 4)).content;
    },
  }));
  expect(() => translateMessages(items, [], settings, table, growth)).toThrow(
    expect.objectContaining({ param: 'input', code: 'invalid_value' }),
  );
  expect(made).toBeLessThan(20);
});

it('tools that repeat a text are refused, with the path of the tool', () => {
  const tools = Array.from({ length: 500 }, (_tool, at) => ({
    kind: 'function' as const,
    param: `tools[${at}]`,
    chatName: `f${at}`,
    origin: { kind: 'function' as const, name: `f${at}` },
    description: text(MiB / 4),
    parameters: null,
    strict: null,
  }));
  expect(() => createToolTable(tools, reading, new Growth(''))).toThrow(expect.objectContaining({ param: 'tools[3]' }));
});
