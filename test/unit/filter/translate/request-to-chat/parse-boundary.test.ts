import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const folder = new URL('../../../../../src/filter/translate/request-to-chat/', import.meta.url);
/** The entry point, and the only file that reads a value of any shape: a tool's schema stays as the client sent it. */
const others = ['request.ts', 'tool-schema-to-chat.ts'];
const translating = readdirSync(folder).filter((file) => file.endsWith('.ts') && !others.includes(file));
const parsing = readdirSync(new URL('parse/', folder));

it('there are files of both kinds', () => {
  expect(translating.length).toBeGreaterThan(5);
  expect(parsing.length).toBeGreaterThan(5);
});

it.each(translating)('%s takes typed values: it uses no schema and nothing of parse/', (file) => {
  const text = readFileSync(new URL(file, folder), 'utf8');
  expect(text).not.toMatch(/'zod|'\.\/parse\/|parseFields|isJsonObject/);
});

it('the entry point parses once, before it translates', () => {
  const text = readFileSync(new URL('request.ts', folder), 'utf8');
  expect(text.match(/parseRequest\(/g)).toHaveLength(1);
  expect(text).not.toMatch(/'zod|schema\/create-response|parseFields/);
});
