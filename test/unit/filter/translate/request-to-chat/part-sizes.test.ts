import { expect, it } from 'vitest';
import { parseContent, partTypes } from '../../../../../src/filter/translate/request-to-chat/parse/parse-content.ts';
import { Dropped } from '../../../../../src/filter/translate/shared/dropped.ts';
import { nothingRecorded } from '../../../../../src/filter/translate/shared/provenance.ts';
import { createTestSettings } from '../../../../support/settings.ts';

/** Every string of every type of content part is measured, also one that Chat nests in an object. */
const limits = { maxTextBytes: 10, maxFileBytes: 10 };
const long = 'x'.repeat(11);

const strings = [...partTypes].flatMap(([type, { keys, speakers }]) =>
  [...keys.names, ...keys.unread]
    .filter((key) => key !== 'type')
    .flatMap((key) => [
      { type, speaker: speakers[0] ?? 'user', path: key, part: { type, [key]: long } },
      { type, speaker: speakers[0] ?? 'user', path: `${key}.data`, part: { type, [key]: { data: long } } },
    ]),
);

it.each(strings)('$type: a $path above its limit is refused by name', ({ part, speaker, path }) => {
  const settings = createTestSettings({ limits });
  const reading = { settings, dropped: new Dropped(nothingRecorded), provenance: nothingRecorded };
  expect(() => parseContent([part], speaker, 'content', reading)).toThrow(`Invalid 'content[0].${path}': `);
});
