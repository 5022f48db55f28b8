import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { Client, credentials, Server } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTlsCredentials, type TlsCredentials } from '../../src/service/server/tls.ts';
import { type CertificateAuthority, createAuthority, replaceFiles } from '../support/certificates.ts';
import { startServiceProcess } from '../support/service-process.ts';

/** A raw unary method: what goes over the connection does not matter here, that it goes does. */
const echo = {
  path: '/test.Echo/Echo',
  requestStream: false,
  responseStream: false,
  requestSerialize: (value: Buffer) => value,
  requestDeserialize: (value: Buffer) => value,
  responseSerialize: (value: Buffer) => value,
  responseDeserialize: (value: Buffer) => value,
} as const;

let authority: CertificateAuthority;
let stranger: CertificateAuthority;
let folder: string;
let files: { certFile: string; keyFile: string; clientCaFile: string | null };
let server: Server | undefined;
let tls: TlsCredentials | undefined;
let log: string[];

beforeAll(() => {
  authority = createAuthority('test authority');
  stranger = createAuthority('another authority');
});
afterAll(() => {
  authority.remove();
  stranger.remove();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'extproc-tls-'));
  files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key'), clientCaFile: null };
  replaceFiles(authority.issue('first'), files);
  log = [];
});
afterEach(() => {
  server?.forceShutdown();
  server = undefined;
  tls?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function serve(intervalMs?: number): Promise<number> {
  const { certFile, keyFile, clientCaFile } = files;
  tls = createTlsCredentials(
    clientCaFile === null ? [certFile, keyFile] : [certFile, keyFile, clientCaFile],
    (problem) => {
      if (problem === null) log.push(`reloaded ${tls?.certificate().subject}`);
      else log.push(`rejected ${problem.message.replaceAll(folder, '')}`);
    },
    intervalMs,
  );
  const started = new Server();
  server = started;
  started.addService(
    { Echo: echo },
    { Echo: (call: { request: Buffer }, done: (e: null, v: Buffer) => void) => done(null, call.request) },
  );
  const { credentials: serverCredentials } = tls;
  return new Promise((resolve, reject) =>
    started.bindAsync('127.0.0.1:0', serverCredentials, (error, port) => (error ? reject(error) : resolve(port))),
  );
}

/** The common name of the certificate a new connection is shown. */
async function shownCertificate(port: number): Promise<string> {
  const socket: TLSSocket = connect({
    port,
    host: '127.0.0.1',
    ca: readFileSync(authority.caFile),
    ALPNProtocols: ['h2'],
  });
  await once(socket, 'secureConnect');
  const name = String(socket.getPeerCertificate().subject.CN);
  socket.destroy();
  return name;
}

function call(client: Client): Promise<string> {
  return new Promise((resolve, reject) =>
    client.makeUnaryRequest(
      echo.path,
      echo.requestSerialize,
      echo.responseDeserialize,
      Buffer.from('ping'),
      { deadline: Date.now() + 120_000 },
      (error, value) => (error ? reject(error) : resolve(String(value))),
    ),
  );
}

const clientOf = (port: number, pair?: { certFile: string; keyFile: string }) =>
  new Client(
    `localhost:${port}`,
    pair === undefined
      ? credentials.createSsl(readFileSync(authority.caFile))
      : credentials.createSsl(readFileSync(authority.caFile), readFileSync(pair.keyFile), readFileSync(pair.certFile)),
    { 'grpc.use_local_subchannel_pool': 1 },
  );

describe('a handshake that fails', () => {
  it('is counted, and said at the level warn once a minute', async () => {
    const pair = authority.issue('handshake');
    const service = await startServiceProcess({ TLS_CERT_FILE: pair.certFile, TLS_KEY_FILE: pair.keyFile });
    try {
      const { port } = new URL(`http://${service.listen[0]}`);
      for (let n = 0; n < 3; n += 1) {
        const socket = connectTcp(Number(port), '127.0.0.1').on('error', () => {});
        socket.end('GET / HTTP/1.1\r\n\r\n'); // plain text where TLS is spoken
        await once(socket.resume(), 'close');
      }
      await expect.poll(() => service.metric('responses_extproc_tls_handshake_failures_total')).toBe(3);
      const failed = (line: object) => 'msg' in line && line.msg === 'TLS handshake failed';
      await service.logged(failed);
      const said = service.log.filter(failed);
      expect(said).toMatchObject([{ level: 'warn', address: '127.0.0.1', reason: expect.any(String) }]);
    } finally {
      await service.remove();
    }
  });
});

describe('TLS', () => {
  it('shows a new certificate to new connections and loses no call of an open one while it rotates', async () => {
    const port = await serve(20);
    const client = clientOf(port);
    let calls = 0;
    let rotating = true;
    const load = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (rotating) {
          expect(await call(client)).toBe('ping');
          calls += 1;
          await sleep(5); // without it, the load takes a core for as long as openssl makes certificates
        }
      }),
    );
    expect(await shownCertificate(port)).toBe('first');
    for (const name of ['second', 'third']) {
      replaceFiles(authority.issue(name), files);
      await expect.poll(() => shownCertificate(port)).toBe(name);
    }
    // A busy machine rotates before each of the eight has had a second call.
    await expect.poll(() => calls).toBeGreaterThan(8);
    rotating = false;
    await load;
    client.close();
    expect(log.filter((line) => line.startsWith('reloaded'))).toEqual(['reloaded CN=second', 'reloaded CN=third']);
  });

  it('keeps the last good pair while half of a rotation is on disk', async () => {
    const port = await serve();
    const next = authority.issue('next');
    copyFileSync(next.certFile, files.certFile);
    tls?.reload();
    expect(log).toEqual(['rejected /tls.key is not the key of /tls.crt']);
    expect(await shownCertificate(port)).toBe('first');
    copyFileSync(next.keyFile, files.keyFile);
    tls?.reload();
    expect(await shownCertificate(port)).toBe('next');
  });

  it('keeps serving when a file vanishes or is no PEM', async () => {
    const port = await serve();
    writeFileSync(files.certFile, 'not a certificate');
    tls?.reload();
    rmSync(files.keyFile);
    tls?.reload();
    expect(log).toHaveLength(2);
    expect(await shownCertificate(port)).toBe('first');
  });

  it('refuses to start with a key of another certificate', async () => {
    copyFileSync(authority.issue('other').keyFile, files.keyFile);
    await expect(serve()).rejects.toThrow('is not the key of');
  });
});

describe('mTLS', () => {
  beforeEach(() => {
    files.clientCaFile = join(folder, 'ca.crt');
    copyFileSync(authority.caFile, files.clientCaFile);
  });

  it('serves a client whose certificate the authority signed', async () => {
    const client = clientOf(await serve(), authority.issue('envoy'));
    expect(await call(client)).toBe('ping');
    client.close();
  });

  it.each([
    ['without a certificate', () => undefined],
    ['with a stranger’s certificate', () => stranger.issue('envoy')],
  ])('turns away a client %s', async (_, pair) => {
    const client = clientOf(await serve(), pair());
    await expect(call(client)).rejects.toThrow(/UNAVAILABLE/);
    client.close();
  });

  it('trusts the new authority once its file has changed', async () => {
    const port = await serve();
    if (files.clientCaFile === null) throw new Error('set above');
    copyFileSync(stranger.caFile, files.clientCaFile);
    tls?.reload();
    const client = clientOf(port, stranger.issue('envoy'));
    expect(await call(client)).toBe('ping');
    client.close();
  });
});
