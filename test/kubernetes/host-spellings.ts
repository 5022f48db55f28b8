import { Agent, request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';

const path = '/v1/models';

/** A way to send a `GET` for a host to Envoy, with a key; resolves with the status, 0 where no answer came. */
export type Ask = (url: string, host: string, authorization?: string) => Promise<number>;

/** How a request can name its host, besides the header of HTTP/1.1. */
export const waysToName: readonly (readonly [string, Ask])[] = [
  ['HTTP/1.0', raw((host) => `GET ${path} HTTP/1.0\r\nHost: ${host}\r\n`)],
  ['HTTP/1.0 without Host', raw(() => `GET ${path} HTTP/1.0\r\n`)],
  ['HTTP/1.1 without Host', raw(() => `GET ${path} HTTP/1.1\r\nConnection: close\r\n`)],
  ['an empty Host', raw(() => `GET ${path} HTTP/1.1\r\nHost:\r\nConnection: close\r\n`)],
  ['space around it', raw((host) => `GET ${path} HTTP/1.1\r\nHost: \t ${host} \t \r\nConnection: close\r\n`)],
  ['Host twice', raw((host) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nHost: ${host}\r\nConnection: close\r\n`)],
  ['the target', raw((host) => `GET http://${host}${path} HTTP/1.1\r\nHost: x.invalid\r\nConnection: close\r\n`)],
  ['an https target', raw((host) => `GET https://${host}${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`)],
  ['a target with a user', raw((host) => `GET http://x@${host}${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`)],
  ['HTTP/2', http2((host) => ({ ':authority': host }))],
  ['HTTP/2, Host alone', http2((host) => ({ host }))],
  ['HTTP/2, Host too', http2((host) => ({ ':authority': host, host: 'x.invalid' }))],
];

function raw(head: (host: string) => string): Ask {
  return (url, host, authorization) =>
    new Promise((resolve) => {
      const key = authorization === undefined ? '' : `Authorization: ${authorization}\r\n`;
      const text = `${head(host)}${key}\r\n`;
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text, 'latin1'));
      let answer = '';
      const status = () => Number(/^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1] ?? 0);
      socket.on('data', (bytes) => {
        answer += bytes.toString('latin1');
        if (status() !== 0) socket.destroy(); // Envoy itself would wait for seconds before it closes
      });
      socket.on('error', () => {}); // `close` follows
      socket.on('close', () => resolve(status()));
    });
}

function http2(headers: (host: string) => Record<string, string>): Ask {
  return (url, host, authorization) =>
    new Promise((resolve) => {
      const session = connectHttp2(url);
      session.on('error', () => resolve(0));
      const key = authorization === undefined ? {} : { authorization };
      const stream = session.request({ ':method': 'GET', ':path': path, ...headers(host), ...key });
      let status = 0;
      stream.on('response', (answer) => {
        status = Number(answer[':status']);
      });
      stream.on('error', () => {}); // `close` follows
      stream.on('close', () => {
        session.destroy();
        resolve(status);
      });
      stream.resume().end();
    });
}

/** The bytes that Node's client can write into a header; those above ASCII are alike to Envoy. */
const bytes = ['\t', '\x80', '\xff', ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index))];

/** All strings that differ from this one in one byte: another, one more, one less. */
export function editsOf(host: string): string[] {
  const edits = new Set<string>();
  for (let at = 0; at <= host.length; at += 1) {
    const [before, after] = [host.slice(0, at), host.slice(at)];
    edits.add(before + after.slice(1));
    for (const byte of bytes) {
      edits.add(before + byte + after);
      if (after !== '') edits.add(before + byte + after.slice(1));
    }
  }
  return [...edits];
}

/** The spellings that this Envoy routes, of all that differ from one of these hosts in a byte: found by asking it, with a key. */
export async function routedSpellings(url: string, hosts: readonly string[], authorization: string): Promise<string[]> {
  const tried = [...new Set(hosts.flatMap((host) => [host, ...editsOf(host)]))];
  const statuses = await statusesOf(url, tried, authorization);
  return tried.filter((_, index) => statuses[index] === 200);
}

/** The status of a `GET` for each of these hosts, over a few connections. Rejects where no answer comes. */
export async function statusesOf(url: string, hosts: readonly string[], authorization?: string): Promise<number[]> {
  const key = authorization === undefined ? {} : { authorization };
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const ask = (host: string) =>
    new Promise<number>((resolve, reject) => {
      request(`${url}${path}`, { agent, headers: { host, ...key } })
        .once('response', (response) => {
          response.resume().once('close', () => resolve(response.statusCode ?? 0));
        })
        .once('error', reject)
        .end();
    });
  try {
    return await Promise.all(hosts.map(ask));
  } finally {
    agent.destroy();
  }
}
