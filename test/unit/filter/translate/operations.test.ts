import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Operation } from '../../../../src/filter/translate/operations/operation.ts';
import { compactionTrigger, notPrewarmed, prewarmed } from '../../../../src/filter/translate/operations/responses.ts';
import { operations } from '../../../../src/filter/translate/translate-request.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import { jsonParts } from '../../../../src/formats/json/parts.ts';
import { blockOf, goldenCases } from '../../../support/golden.ts';

const mapping = readFileSync(new URL('../../../../docs/mapping.md', import.meta.url), 'utf8');
const folder = new URL('../../../../src/filter/translate/operations/', import.meta.url);

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'method' in value && 'path' in value;
}

test('every operation that has a file has a line in the list, but for those that a body asks for', async () => {
  const exported: Operation[] = [];
  for (const name of readdirSync(folder)) {
    const module: Record<string, unknown> = await import(new URL(name, folder).href);
    exported.push(...Object.values(module).filter(isOperation));
  }
  expect(exported.filter((operation) => !operations.includes(operation))).toEqual([
    compactionTrigger,
    notPrewarmed,
    prewarmed,
  ]);
  expect(exported.length).toBe(operations.length + 3);
});

test('each has a method and path of its own', () => {
  const places = operations.map(({ method, path }) => `${method} /${path.join('/')}`);
  expect(new Set(places).size).toBe(places.length);
  expect(places).toContain('POST /v1/responses');
});

describe.each(operations.map((operation) => ({ ...operation, name: operation.path.join('/') })))(
  '$method /$name',
  ({ type, method, path, name }) => {
    // What is passed has no request to write in a case.
    if (type === 'translated')
      test('has a golden case that is translated', () => {
        const endpoint = path.at(-1);
        const own = goldenCases('request').filter(
          (golden) =>
            blockOf(golden, 'error') === null &&
            (JSON.parse(blockOf(golden, 'settings') ?? '{}').endpoint ?? 'responses') === endpoint,
        );
        const advice = `Write a case in test/golden/request-*.md with "endpoint": "${endpoint}" among its settings.`;
        expect(own, advice).not.toEqual([]);
      });

    test('has a row in docs/mapping.md', () => {
      const rows =
        mapping.match(new RegExp(`^\\| <a id="row-endpoint-[a-z-]+"></a>\\[\`${method} /${name}[\`?]`, 'gm')) ?? [];
      expect(rows, 'Say under “Endpoints” of docs/mapping.md what becomes of it.').toHaveLength(1);
    });
  },
);

test('each is written in pieces as it is written whole', () => {
  const chat = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 9 } as const;
  const passthrough = new Map<string, unknown>([['chat_template_kwargs', { a: 1 }]]);
  const translated = operations.filter((operation) => operation.type === 'translated');
  expect(translated.length).toBeGreaterThan(2);
  for (const { body } of translated)
    expect([...jsonParts(body(chat, passthrough))].join('')).toBe(JSON.stringify(body(chat, passthrough)));
});

const ofBodies = [compactionTrigger, prewarmed, notPrewarmed];

test.each([
  ['ends in a trigger', 'generic', { endsInTrigger: true, prewarm: null }, compactionTrigger],
  ['prewarms a server that keeps prompts', 'vllm', { prewarm: 'generate', input: [{}] }, prewarmed],
  ['prewarms it with instructions alone', 'vllm', { prewarm: 'generate', input: [], instructions: 'x' }, prewarmed],
  ['prewarms it with nothing', 'vllm', { prewarm: 'generate', input: [] }, notPrewarmed],
  ['prewarms another server', 'generic', { prewarm: 'generate', input: [{}] }, notPrewarmed],
])('a body that %s (%s) asks for another operation of /v1/responses alone', (_what, name, body, expected) => {
  const profile = builtInProfiles.get(name)?.profile;
  if (profile === undefined) throw new Error(`no profile ${name}`);
  const asked = operations.flatMap((operation) =>
    operation.type === 'translated' ? [operation.forRequest(body as never, profile)] : [],
  );
  expect(asked).toEqual([expected, ...asked.slice(1)]);
  for (const other of asked.slice(1)) expect(operations).toContain(other);
  for (const own of ofBodies) expect(own.forRequest(body as never, profile)).toBe(own);
});
