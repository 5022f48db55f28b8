import { describe, expect, it } from 'vitest';
import { chooseLineFormat, shortenLine } from '../../../mesh/lines.ts';

const at = new Date(2026, 10, 22, 9, 8, 7).toISOString();
const exchange = {
  ...{ level: 'info', time: at, msg: 'exchange', outcome: 'completed', status: 200, code: null, method: 'POST' },
  ...{ path: '/v1/responses', model: 'demo', input_tokens: 10, output_tokens: 8, dropped: [], duration_ms: 35 },
};
const access = {
  ...{ time: at, method: 'GET', path: '/v1/models', route: 'untouched_models' },
  ...{ status: 200, details: 'via_upstream', duration_ms: 3 },
};
const short = (child: 'service' | 'envoy', line: object) => shortenLine(child, JSON.stringify(line), 'short');

describe('a request in the terminal of npm start is one short line', () => {
  it.each([
    [{}, '09:08:07  demo  completed  10 in, 8 out  35 ms'],
    [{ dropped: ['web_search', 'user'] }, '09:08:07  demo  completed  10 in, 8 out  35 ms  left out: web_search, user'],
    [{ dropped: undefined, output_tokens: null }, '09:08:07  demo  completed  10 in, 0 out  35 ms'],
    [
      { outcome: 'refused', status: 400, code: 'unsupported_value', input_tokens: null, output_tokens: null },
      '09:08:07  demo  refused 400 unsupported_value  35 ms',
    ],
    [{ path: '/v1/responses/', model: null, input_tokens: undefined }, '09:08:07  -  completed  35 ms'],
    [{ path: null }, '09:08:07  demo  completed  10 in, 8 out  35 ms'],
    [{ path: undefined }, '09:08:07  demo  completed  10 in, 8 out  35 ms'],
    [{ path: '/v1/responses/compact' }, '09:08:07  POST /v1/responses/compact  demo  completed  10 in, 8 out  35 ms'],
  ])('%j', (fields, shown) => {
    expect(short('service', { ...exchange, ...fields })).toBe(shown);
  });

  it.each([
    [{}, '09:08:07  GET /v1/models  200  3 ms'],
    [{ status: 399, details: 'x' }, '09:08:07  GET /v1/models  399  3 ms'],
    [{ status: 404 }, '09:08:07  GET /v1/models  404  3 ms'],
    [{ status: 400, details: null }, '09:08:07  GET /v1/models  400  3 ms'],
    [{ status: 400, details: 'direct_response' }, '09:08:07  GET /v1/models  400 direct_response  3 ms'],
    [{ route: null }, '09:08:07  GET /v1/models  200  3 ms'],
    [{ route: '' }, '09:08:07  GET /v1/models  200  3 ms'],
    // The service has a line of these, except where it did not answer in time.
    [{ route: 'responses' }, null],
    [{ route: 'responses', details: null }, null],
    [
      { route: 'responses', status: 504, details: 'ext_proc_error_per-message_timeout' },
      '09:08:07  GET /v1/models  504 ext_proc_error_per-message_timeout  3 ms',
    ],
  ])('for what only Envoy sees too, and never twice: %j', (fields, shown) => {
    expect(short('envoy', { ...access, ...fields })).toBe(shown);
  });

  it.each([
    [{ level: 'info', time: at, msg: 'listening' }, null],
    [{ level: 'debug', time: at, msg: 'call' }, null],
    [{ level: 'trace', time: at }, null],
    [{ level: 'fatal', time: at, reason: 'MAX_TOOLS: …', msg: 'cannot start' }, 'fatal: cannot start MAX_TOOLS: …'],
    [{ level: 'warn', time: at }, 'warn:'],
    [{ msg: 'odd' }, 'undefined: odd'],
    [
      { level: 'info', time: at, profiles: ['team-vllm'], msg: 'profiles file read again' },
      'info: profiles file read again profiles=["team-vllm"]',
    ],
    [
      { level: 'info', time: at, msg: 'certificate files read again', files: 2 },
      'info: certificate files read again files=2',
    ],
  ])('while warnings and errors keep their words, and the rest is silent: %j', (line, shown) => {
    expect(short('service', line)).toBe(shown === null ? null : `service | ${shown}`);
  });

  it('and what is no object of JSON stays as it is', () => {
    for (const line of ['no JSON', '{no JSON', '5', 'null', '[1]'])
      expect([shortenLine('service', line, 'short'), shortenLine('envoy', line, 'short')]).toEqual([
        `service | ${line}`,
        `envoy   | ${line}`,
      ]);
  });

  it('or the whole line where that is asked for', () => {
    expect([shortenLine('service', '{"a":1}', 'json'), shortenLine('envoy', '{"b":2}', 'json')]).toEqual([
      'service | {"a":1}',
      'envoy   | {"b":2}',
    ]);
  });

  it('in a terminal, or where LOG_FORMAT says so', () => {
    expect(chooseLineFormat({}, true)).toBe('short');
    expect(chooseLineFormat({ LOG_FORMAT: '' }, true)).toBe('short');
    expect(chooseLineFormat({}, false)).toBe('json');
    expect(chooseLineFormat({ LOG_FORMAT: 'json' }, true)).toBe('json');
    expect(chooseLineFormat({ LOG_FORMAT: 'short' }, false)).toBe('short');
    expect(() => chooseLineFormat({ LOG_FORMAT: 'xml' }, true)).toThrow('LOG_FORMAT must be json or short, not "xml".');
  });
});
