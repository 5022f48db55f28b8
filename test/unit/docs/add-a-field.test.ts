import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { explainSetupOf } from '../../support/config-of-settings.ts';
import { createdAt } from '../../support/context.ts';

/** CONTRIBUTING's example of a new field, `shine`, followed to the letter in a copy of the sources. */
const root = join(import.meta.dirname, '../../..');
const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
const section = contributing.slice(contributing.indexOf('## Add a field'), contributing.indexOf('## Add a type'));
const cache = join(root, '.cache');
mkdirSync(cache, { recursive: true });
const copy = mkdtempSync(join(cache, 'add-a-field-'));
for (const floor of ['formats', 'filter', 'service', 'tools/explain', 'tools/cli'])
  cpSync(join(root, 'src', floor), join(copy, 'src', floor), { recursive: true });
cpSync(join(root, 'package.json'), join(copy, 'package.json'));
afterAll(() => rmSync(copy, { recursive: true }));

/** Adds a line to a file of the copy, below the one that is given. */
function addLine(path: string, below: string, line: string): void {
  const text = readFileSync(join(copy, path), 'utf8');
  expect(text.split(below), `${path} has no line, or several, of ${below}`).toHaveLength(2);
  writeFileSync(join(copy, path), text.replace(below, `${below}\n${line}`));
}

describe('“Add a field” in CONTRIBUTING.md', () => {
  it('names a line that carries the field, and the files that it is added to', () => {
    expect(section).toContain('Suppose the API gains `shine`, a number that some servers call `gloss`.');
    expect(section.match(/`(written\.\w+\('gloss', [^`]*;)`/)?.[1]).toBe("written.copy('gloss', 'shine');");
    expect(section).toContain('`explain` says `shine → gloss`');
  });

  it('followed step by step, leads to an explanation that says what became of it', async () => {
    addLine(
      'src/filter/translate/shared/request-fields.ts',
      '  top_p: read(number(0, 1)),',
      '  shine: read(number(0, 1)),',
    );
    addLine(
      'src/filter/translate/request-to-chat/request.ts',
      `  written.copy('moderation', 'moderation');`,
      `  ${section.match(/`(written\.\w+\('gloss', [^`]*;)`/)?.[1]}`,
    );
    const { explainRequest } = await import(pathToFileURL(join(copy, 'src/tools/explain/explain-request.ts')).href);
    const request = {
      method: 'POST',
      path: '/v1/responses',
      headers: new Map([['content-type', 'application/json']]),
      body: Buffer.from(JSON.stringify({ model: 'm', input: 'x', shine: 0.5 })),
    };
    const { fields, added, chat_request } = explainRequest({
      setup: explainSetupOf({}),
      request,
      now: createdAt,
      fields: null,
      linkBase: '',
    });
    expect(chat_request.body).toMatchObject({ gloss: 0.5 });
    expect(fields.find(({ field }: { field: string }) => field === 'shine')).toMatchObject({
      fate: 'renamed',
      becomes: [{ path: 'gloss', value: 0.5 }],
    });
    expect(added.map(({ path }: { path: string }) => path)).not.toContain('gloss');
  });
});
