import { expect, it } from 'vitest';
import type { ExchangeRow } from '../../../../../src/tools/inspect/exchange-json.ts';
import { hasFailed, listRowWords, writeRowTitle } from '../../../../../src/tools/inspect/page/format.ts';

const row = (more: Partial<ExchangeRow>) =>
  ({
    ...{ method: 'POST', path: '/v1/responses', endpoint: 'responses', model: 'demo', status: 200 },
    ...{ said: null, given: null, answered: null, called: [] },
    ...more,
  }) as unknown as ExchangeRow;

it.each([
  [{ said: 'Hi', called: ['f', 'g'] }, 'Hi', ['demo', 'called f, g']],
  [{ said: 'Hi', given: '3 tool results' }, 'Hi', ['demo', '3 tool results']],
  [{ given: '3 tool results' }, '3 tool results', ['demo']],
  [{ endpoint: 'input_tokens', path: '/v1/responses/input_tokens' }, 'input_tokens', ['demo']],
  [{ said: 'Hi', endpoint: 'compact' }, 'Hi', ['demo', 'compact']],
  [{}, 'POST /v1/responses', ['demo']],
  [{ endpoint: null, model: null, method: 'GET', path: '/v1/models' }, 'GET /v1/models', []],
  [{ endpoint: null, model: null, method: null, path: null }, 'no request', []],
] as const)('a row of %j is called %j', (given, title, about) => {
  expect(writeRowTitle(row(given))).toBe(title);
  expect(listRowWords(row(given))).toEqual(about);
});

it('knows an error by the status that the client got', () => {
  expect([399, 400, 503, null].map((status) => hasFailed(row({ status })))).toEqual([false, true, true, false]);
});
