import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkConfig } from '../../../src/program/check-config.ts';
import { createTlsCredentials, readTlsFiles, readTlsSettings } from '../../../src/service/server/tls.ts';
import { readConfig } from '../../../src/service/settings/config.ts';
import { type CertificateAuthority, createAuthority } from '../../support/certificates.ts';

let authority: CertificateAuthority;
let one: ReturnType<CertificateAuthority['issue']>;
let other: ReturnType<CertificateAuthority['issue']>;
let folder: string;
beforeAll(() => {
  authority = createAuthority('test');
  [one, other] = [authority.issue('one'), authority.issue('other')];
  folder = mkdtempSync(join(tmpdir(), 'check-config-'));
});
afterAll(() => {
  authority.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** What is wrong with these settings, a line each; empty if nothing is. */
function problemsOf(environment: Readonly<Record<string, string>>): string[] {
  try {
    checkConfig(readConfig(environment));
    return [];
  } catch (error) {
    return String((error as Error).message).split('\n');
  }
}

describe('the configuration as it is checked at the start', () => {
  it('may have tools that are hosted, and those of vendors', () => {
    expect(problemsOf({ DROPPED_TOOLS: 'web_search,mcp,acme:tool' })).toEqual([]);
    expect(problemsOf({ DROPPED_TOOLS: 'web_search,websearch,function' })).toEqual([
      'Configuration: DROPPED_TOOLS: unknown hosted tool websearch, function',
    ]);
  });

  it('names every file that cannot be read, with whatever else is wrong', () => {
    const missing = (file: string) => `cannot be read: ENOENT: no such file or directory, access '${file}'`;
    expect(
      problemsOf({ TLS_CERT_FILE: '/c', TLS_KEY_FILE: one.keyFile, TLS_CLIENT_CA_FILE: '/ca', DROPPED_TOOLS: 'x' }),
    ).toEqual([
      `Configuration: TLS_CERT_FILE: ${missing('/c')}`,
      `Configuration: TLS_CLIENT_CA_FILE: ${missing('/ca')}`,
      'Configuration: DROPPED_TOOLS: unknown hosted tool x',
    ]);
    expect(problemsOf({ COMPACTION_PROMPT_FILE: '/p' })).toEqual([
      expect.stringContaining('COMPACTION_PROMPT_FILE: cannot be read: ENOENT'),
    ]);
  });

  it('has a certificate with its key, and authorities that can be used', () => {
    const pair = { TLS_CERT_FILE: one.certFile, TLS_KEY_FILE: one.keyFile };
    const garbage = join(folder, 'garbage');
    writeFileSync(garbage, '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n');
    expect(problemsOf(pair)).toEqual([]);
    expect(problemsOf({ ...pair, TLS_CLIENT_CA_FILE: authority.caFile })).toEqual([]);
    expect(problemsOf({ ...pair, TLS_KEY_FILE: other.keyFile })).toEqual([
      `Configuration: TLS_CERT_FILE, TLS_KEY_FILE: cannot be used: ${other.keyFile} is not the key of ${one.certFile}`,
    ]);
    expect(problemsOf({ ...pair, TLS_CLIENT_CA_FILE: garbage })).toEqual([
      expect.stringMatching(/^Configuration: TLS_CERT_FILE, TLS_KEY_FILE, TLS_CLIENT_CA_FILE: cannot be used: /),
    ]);
  });
});

describe('the credentials of the port', () => {
  it('ask clients for a certificate where there are authorities for it', () => {
    const filesOf = (more: Readonly<Record<string, string>>) =>
      readTlsSettings(readConfig({ TLS_CERT_FILE: one.certFile, TLS_KEY_FILE: one.keyFile, ...more }));
    expect(readTlsSettings(readConfig({}))).toBeNull();
    expect(filesOf({})).toEqual([one.certFile, one.keyFile]);
    expect(filesOf({ TLS_CLIENT_CA_FILE: '/ca' })).toEqual([one.certFile, one.keyFile, '/ca']);
    for (const [files, asks] of [
      [[one.certFile, one.keyFile], false],
      [[one.certFile, one.keyFile, authority.caFile], true],
    ] as const) {
      const tls = createTlsCredentials(files as Parameters<typeof readTlsFiles>[0], () => {});
      const secure = tls.credentials._getSecureContextOptions();
      expect([tls.credentials._getConstructorOptions()?.requestCert, secure?.ca !== undefined]).toEqual([asks, asks]);
      expect([tls.credentials._equals(tls.credentials), tls.certificate().subject]).toEqual([true, 'CN=one']);
      tls.close();
    }
  });

  it('are those of the files as they are now, and the last that could be used', () => {
    const [certFile, keyFile] = [join(folder, 'cert'), join(folder, 'key')];
    const put = (text: { readonly certFile: string; readonly keyFile: string }, key = text.keyFile) => {
      writeFileSync(certFile, readTlsFiles([text.certFile, text.keyFile]).options.cert);
      writeFileSync(keyFile, readTlsFiles([one.keyFile === key ? one.certFile : other.certFile, key]).options.key);
    };
    put(one);
    const told: (string | null)[] = [];
    const tls = createTlsCredentials([certFile, keyFile], (problem) => void told.push(problem?.message ?? null));
    put(other, one.keyFile);
    tls.reload();
    expect([tls.certificate().subject, told]).toEqual(['CN=one', [`${keyFile} is not the key of ${certFile}`]]);
    put(other);
    tls.reload();
    expect([tls.certificate().subject, told.at(-1)]).toEqual(['CN=other', null]);
    expect(String(tls.credentials._getSecureContextOptions()?.cert)).toBe(
      String(readTlsFiles([certFile, keyFile]).options.cert),
    );
    tls.close();
  });
});
