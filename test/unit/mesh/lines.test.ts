import { describe, expect, it } from 'vitest';
import { lineFormat, shortEnvoyLine, shortServiceLine } from '../../../tools/mesh/lines.ts';

const at = new Date(2026, 10, 22, 9, 8, 7).toISOString();
const exchange = {
  ...{ level: 'info', time: at, msg: 'exchange', outcome: 'completed', status: 200, code: null, method: 'POST' },
  ...{ path: '/v1/responses', model: 'demo', input_tokens: 10, output_tokens: 8, dropped: [], duration_ms: 35 },
};

describe('a request in the terminal of npm start is one short line', () => {
  it.each([
    [{}, '09:08:07  demo  completed  10 in, 8 out  35 ms'],
    [{ dropped: ['web_search'] }, '09:08:07  demo  completed  10 in, 8 out  35 ms  left out: web_search'],
    [
      { outcome: 'refused', status: 400, code: 'unsupported_value', input_tokens: null, output_tokens: null },
      '09:08:07  demo  refused 400 unsupported_value  35 ms',
    ],
    [{ path: '/v1/responses/compact' }, '09:08:07  POST /v1/responses/compact  demo  completed  10 in, 8 out  35 ms'],
  ])('%j', (fields, shown) => {
    expect(shortServiceLine(JSON.stringify({ ...exchange, ...fields }))).toBe(shown);
  });

  it('for what only Envoy sees too, and never twice', () => {
    const access = {
      time: at,
      method: 'GET',
      path: '/v1/models',
      status: 200,
      details: 'via_upstream',
      duration_ms: 3,
    };
    expect(shortEnvoyLine(JSON.stringify({ ...access, route: 'untouched_models' }))).toBe(
      '09:08:07  GET /v1/models  200  3 ms',
    );
    expect(shortEnvoyLine(JSON.stringify({ ...access, route: null, status: 404, details: 'direct_response' }))).toBe(
      '09:08:07  GET /v1/models  404 direct_response  3 ms',
    );
    expect(shortEnvoyLine(JSON.stringify({ ...access, route: 'responses' }))).toBeNull();
    const stuck = { ...access, route: 'responses', status: 504, details: 'ext_proc_error_per-message_timeout' };
    expect(shortEnvoyLine(JSON.stringify(stuck))).toContain('504 ext_proc_error');
  });

  it('while warnings and errors keep their words, and the rest is silent', () => {
    expect(shortServiceLine(JSON.stringify({ level: 'info', time: at, msg: 'listening' }))).toBeNull();
    expect(
      shortServiceLine(JSON.stringify({ level: 'fatal', time: at, reason: 'MAX_TOOLS: …', msg: 'cannot start' })),
    ).toBe('service | fatal: cannot start MAX_TOOLS: …');
    const corrected = { level: 'info', time: at, profiles: ['team-vllm'], msg: 'profiles file read again' };
    expect(shortServiceLine(JSON.stringify(corrected))).toBe(
      'service | info: profiles file read again profiles=["team-vllm"]',
    );
    expect(shortServiceLine('no JSON')).toBe('service | no JSON');
    expect(shortEnvoyLine('[critical] no JSON')).toBe('envoy   | [critical] no JSON');
  });

  it('in a terminal, or where LOG_FORMAT says so', () => {
    expect(lineFormat({}, true)).toBe('short');
    expect(lineFormat({}, false)).toBe('json');
    expect(lineFormat({ LOG_FORMAT: 'json' }, true)).toBe('json');
    expect(lineFormat({ LOG_FORMAT: 'short' }, false)).toBe('short');
    expect(() => lineFormat({ LOG_FORMAT: 'xml' }, true)).toThrow('LOG_FORMAT must be json or short, not "xml".');
  });
});
