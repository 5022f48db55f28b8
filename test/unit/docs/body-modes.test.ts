import { expect, test } from 'vitest';
import { Exchange } from '../../../src/filter/exchange/exchange.ts';
import type { BodyModes } from '../../../src/filter/exchange/types.ts';
import { docTables } from '../../support/doc-tables.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../support/exchange-options.ts';

/** Is a stream ended after an hour without a byte of the upstream? */
function timesOut(response: BodyModes['response']): boolean {
  const exchange = new Exchange(exchangeOptions({ stallTimeoutMs: 1000, modes: { request: 'BUFFERED', response } }));
  const head = { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' };
  repliesOf(exchange, { type: 'request_headers', headers: headersOf(head), endOfStream: false });
  const body = Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', stream: true }));
  repliesOf(exchange, { type: 'request_body', body, endOfStream: true });
  const headers = headersOf({ ':status': '200', 'content-type': 'text/event-stream' });
  repliesOf(exchange, { type: 'response_headers', headers, endOfStream: false });
  const chunk = Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n');
  repliesOf(exchange, { type: 'response_body', body: chunk, endOfStream: false });
  for (const now of [1000, 3_600_000]) Array.from(exchange.tick(now));
  return exchange.summary().errorCode === 'upstream_timeout';
}

test('docs/body-modes.md says in which modes a silent upstream is timed out', () => {
  const isRow = ([what]: readonly string[]) => what?.includes('UPSTREAM_IDLE_TIMEOUT_MS') === true;
  const table = docTables.flatMap(([page, , rows]) =>
    page === 'docs/body-modes.md' && rows.some(isRow) ? [rows] : [],
  )[0];
  const [heads = [], cells = []] = [table?.[0]?.slice(1), table?.find(isRow)?.slice(1)];
  const said = heads.map((head, at) => [head.replaceAll(/[`\s]/g, ''), cells[at]?.trim().startsWith('yes')]);
  expect(said).toEqual(
    (['FULL_DUPLEX_STREAMED', 'BUFFERED', 'STREAMED', 'BUFFERED_PARTIAL'] as const).map((mode) => [
      mode,
      timesOut(mode),
    ]),
  );
});
