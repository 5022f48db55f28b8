import { describe, expect, it } from 'vitest';
import { findOriginProblem, securityHeaders } from '../../../../src/tools/inspect/inspector.ts';

describe('who may open the inspector', () => {
  const own = { host: '127.0.0.1:9090', origin: 'http://127.0.0.1:9090', 'content-type': 'application/json' };
  it('its own page may send a request', () => {
    expect(findOriginProblem(own)).toBeNull();
    expect(findOriginProblem({ ...own, 'sec-fetch-site': 'same-origin' })).toBeNull();
    expect(findOriginProblem({ ...own, origin: 'https://127.0.0.1:9090' })).toBeNull();
  });

  it.each([
    ['without an origin', { host: own.host, 'content-type': own['content-type'] }],
    ['of another site', { ...own, origin: 'http://evil.example' }],
    ['of another port', { ...own, origin: 'http://127.0.0.1:8080' }],
    ['of a sandbox', { ...own, origin: 'null' }],
    ['that the browser calls cross-site', { ...own, 'sec-fetch-site': 'cross-site' }],
    ['of a form, which sends text', { ...own, 'content-type': 'text/plain' }],
  ])('no page %s may', (_which, headers) => {
    expect(findOriginProblem(headers)).not.toBeNull();
  });

  it('the policy allows the page its own files and nothing else', () => {
    const policy = String(securityHeaders['content-security-policy']).split('; ');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'none'");
    expect(policy.join()).not.toMatch(/unsafe|data:|blob:|\*|http/);
    expect(securityHeaders).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
  });
});
