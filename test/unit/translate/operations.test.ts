import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Operation } from '../../../src/translate/operations/operation.ts';
import { operations } from '../../../src/translate/operations/operations.ts';
import { compactionTrigger } from '../../../src/translate/operations/responses.ts';

const folder = new URL('../../../src/translate/operations/', import.meta.url);

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'method' in value && 'path' in value;
}

test('every operation that has a file has a line in the list, but for the one that a body asks for', async () => {
  const exported: Operation[] = [];
  for (const name of readdirSync(folder)) {
    const module: Record<string, unknown> = await import(new URL(name, folder).href);
    exported.push(...Object.values(module).filter(isOperation));
  }
  expect(exported.filter((operation) => !operations.includes(operation))).toEqual([compactionTrigger]);
  expect(exported.length).toBe(operations.length + 1);
});

test('each has a method and path of its own', () => {
  const places = operations.map(({ method, path }) => `${method} /${path.join('/')}`);
  expect(new Set(places).size).toBe(places.length);
  expect(places).toContain('POST /v1/responses');
});

test('a body that ends in a trigger asks for another operation of /v1/responses alone', () => {
  const asked = operations.flatMap((operation) =>
    operation.type === 'translated' ? [operation.of({ endsInTrigger: true } as never) === operation] : [],
  );
  expect(asked).toEqual([false, true, true]);
  expect(compactionTrigger.of({ endsInTrigger: true } as never)).toBe(compactionTrigger);
});
