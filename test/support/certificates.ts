import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface CertificateAuthority {
  /** PEM file of the authority. */
  readonly caFile: string;
  /** A certificate signed by it, with that common name, for `localhost` or these names; returns the paths of both files. */
  issue(name: string, names?: string): { readonly certFile: string; readonly keyFile: string };
  remove(): void;
}

/** A throw-away authority made with openssl. */
export function createAuthority(name: string): CertificateAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'extproc-ca-'));
  const caFile = join(folder, 'ca.pem');
  const caKey = join(folder, 'ca.key');
  openssl('req', '-x509', ...newKey(caKey), '-out', caFile, '-days', '2', '-subj', `/CN=${name}`);
  return {
    caFile,
    issue(subject, names = 'DNS:localhost,IP:127.0.0.1') {
      const certFile = join(folder, `${subject}.pem`);
      const keyFile = join(folder, `${subject}.key`);
      const request = join(folder, `${subject}.csr`);
      const extensions = join(folder, `${subject}.ext`);
      writeFileSync(extensions, `subjectAltName=${names}\n`);
      openssl('req', ...newKey(keyFile), '-out', request, '-subj', `/CN=${subject}`);
      openssl(
        ...['x509', '-req', '-in', request, '-CA', caFile, '-CAkey', caKey, '-CAcreateserial'],
        ...['-days', '2', '-extfile', extensions, '-out', certFile],
      );
      return { certFile, keyFile };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Puts one pair of files in the place of another, as a rotation does. */
export function replaceFiles(
  from: { readonly certFile: string; readonly keyFile: string },
  to: { readonly certFile: string; readonly keyFile: string },
): void {
  copyFileSync(from.keyFile, to.keyFile);
  copyFileSync(from.certFile, to.certFile);
}

const newKey = (file: string) => [
  '-newkey',
  'ec',
  '-pkeyopt',
  'ec_paramgen_curve:prime256v1',
  '-nodes',
  '-keyout',
  file,
];

function openssl(...words: string[]): void {
  execFileSync('openssl', words, { stdio: ['ignore', 'ignore', 'pipe'] });
}
