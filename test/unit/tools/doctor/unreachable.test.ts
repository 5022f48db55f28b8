import { expect, it } from 'vitest';
import { explainUnreachable, noTlsHandshake } from '../../../../src/tools/doctor/send-probe.ts';

const [plain, secure] = ['http://x.test/v1', 'https://x.test:99/v1'];

it.each([
  ['ECONNREFUSED', plain, 'nothing listens at x.test:80 (ECONNREFUSED). Start the server, or correct the address.'],
  [
    'ECONNREFUSED',
    'https://x.test',
    'nothing listens at x.test:443 (ECONNREFUSED). Start the server, or correct the address.',
  ],
  ...['ENOTFOUND', 'EAI_AGAIN'].map((code) => [
    code,
    plain,
    `the name x.test is not known (${code}). Correct the address.`,
  ]),
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'].map((code) => [
    code,
    secure,
    `no connection to x.test:99 could be made (${code}). Is the address right, and no firewall in between?`,
  ]),
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'].map((code) => [
    code,
    secure,
    `its certificate is not trusted here (${code}). Set NODE_EXTRA_CA_CERTS to the PEM file of the authority that issued it, or of the certificate itself if it is self-signed.`,
  ]),
  ['CERT_HAS_EXPIRED', secure, 'its certificate has expired (CERT_HAS_EXPIRED). It must be renewed on the server.'],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    secure,
    'its certificate is for another name than x.test (ERR_TLS_CERT_ALTNAME_INVALID). Write the name that the certificate has.',
  ],
  ...[noTlsHandshake, 'EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER'].map((code) => [
    code,
    secure,
    `it does not speak TLS on that port (${code}). Try http://x.test:99/v1`,
  ]),
  ...['HPE_INVALID_CONSTANT', 'EPROTO'].map((code) => [
    code,
    plain,
    `it does not speak HTTP on that port (${code}). Try https://x.test/v1`,
  ]),
  [
    'HPE_INVALID_CONSTANT',
    secure,
    'it does not speak HTTP on that port (HPE_INVALID_CONSTANT). Try http://x.test:99/v1',
  ],
  ...['ECONNRESET', 'EPIPE'].flatMap((code) => [
    [
      code,
      plain,
      `it closed the connection without an answer (${code}). If it speaks TLS on that port, try https://x.test/v1`,
    ],
    [
      code,
      secure,
      `it closed the connection without an answer (${code}). Does it speak TLS on that port? If not, try http://x.test:99/v1`,
    ],
  ]),
  ['ERR_SSL_ODD', plain, 'the request failed: ERR_SSL_ODD.'],
  [noTlsHandshake, plain, `the request failed: ${noTlsHandshake}.`],
  ['SELF_SIGNED_CERT', secure, 'the request failed: SELF_SIGNED_CERT.'],
  ['EODD', secure, 'the request failed: EODD.'],
])('%s at %s is explained', (reason, url, words) => {
  expect(explainUnreachable(reason, new URL(url))).toBe(words);
});
