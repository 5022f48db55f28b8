import { describe, expect, it } from 'vitest';
import { type ErrorAnswer, translateError } from '../../src/filter/translate/chat-to-response/error.ts';
import type { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import { blockOf, type GoldenCase, goldenFolder, readGoldenCases } from '../support/golden.ts';

const [table, ...cases] = readGoldenCases(new URL('errors.md', goldenFolder));
if (table === undefined) throw new Error('errors.md begins with the table of statuses');

interface Row {
  readonly given: number;
  readonly status: number;
  readonly type: string;
  readonly code: string;
}

const rows: readonly Row[] = textOf(table, 'statuses')
  .split('\n')
  .map((line) => {
    const [given, status, type, code] = line
      .split('|')
      .map((cell) => cell.trim())
      .filter((cell) => cell !== '');
    return { given: Number(given), status: Number(status), type: type ?? '', code: code ?? '' };
  });

describe(`${table.where}: ${table.title}`, () => {
  it.each(rows)('$given becomes $status $type, $code', ({ given, ...outcome }) => {
    const { status, type, code } = translateError({ status: given, contentType: null, body: '', retryAfter: null });
    expect({ status, type, code }).toEqual(outcome);
  });
});

describe.each(cases)('$where: $title', (golden) => {
  const answer = readAnswer(textOf(golden, 'upstream'));
  const expected = JSON.parse(textOf(golden, 'client'));

  it('gives the error written beside it', () => {
    expect(fieldsOf(translateError(answer))).toEqual({ headers: {}, ...expected });
  });

  it('has the type and status of the upstream’s status, whichever that is', () => {
    for (const row of rows) {
      const error = translateError({ ...answer, status: row.given });
      const { status, type } = expectedUnder(row, expected);
      expect({ given: row.given, status: error.status, type: error.type }).toEqual({ given: row.given, status, type });
      // What the upstream says does not depend on its status; without words, only the status is left to name.
      if (!expected.message.startsWith('Upstream returned'))
        expect(error.message).toContain(beforeHint(expected.message));
      expect(error.code).not.toBe('');
      expect(JSON.parse(error.toJson())).toEqual({ error: error.toObject() });
    }
  });
});

/** What outweighs the status: a prompt that is too long, a failed provider, media or a schema that are not taken, a template's exception, Envoy's timeout. */
function expectedUnder(
  row: Row,
  expected: { code: string; message: string; type: string },
): Pick<Row, 'status' | 'type'> {
  if (expected.code === 'context_length_exceeded') return { status: 400, type: 'invalid_request' };
  if (row.given === 500 && expected.message.includes('(Acme)')) return { status: 500, type: 'model_error' };
  if (expected.code === 'invalid_tool_call') return { status: 502, type: 'model_error' };
  if (expected.code === 'unsupported_value') return { status: 400, type: 'invalid_request' };
  if (row.given >= 500 && /jinja|schema conversion|parse grammar/i.test(expected.message))
    return { status: 400, type: 'invalid_request' };
  if (expected.message.includes('DEGRADED')) return { status: 503, type: 'server_error' };
  if (expected.code === 'upstream_timeout') return { status: 504, type: 'server_error' };
  return row;
}

function beforeHint(message: string): string {
  return message.replace(/\.? Please try again in .*$/, '');
}

/** `429`, headers, an empty line, the body. */
function readAnswer(text: string): ErrorAnswer {
  const [head = '', ...rest] = text.split('\n\n');
  const [status, ...lines] = head.split('\n');
  const headers = new Map(lines.map((line) => line.split(': ') as [string, string]));
  return {
    status: Number(status),
    contentType: headers.get('content-type') ?? null,
    body: rest.join('\n\n'),
    retryAfter: headers.get('retry-after') ?? null,
  };
}

function fieldsOf(error: ApiError): Record<string, unknown> {
  return { status: error.status, headers: error.headers, ...error.toObject() };
}

function textOf(golden: GoldenCase, name: string): string {
  const text = blockOf(golden, name);
  if (text === null) throw new Error(`${golden.where}: no block is called “${name}”`);
  return text;
}
