import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasMoreValues } from '../../formats/json/scan.ts';
import { isStreamed } from './chat-answer.ts';
import type { Answer, ProbeRequest } from './findings.ts';

/** Sends request number `index` of a probe. Never rejects: a failure is part of the answer. */
export type Send = (request: ProbeRequest, from: { readonly probe: string; readonly index: number }) => Promise<Answer>;

interface Target {
  /** The Chat API's own URL, `…/chat/completions`. */
  readonly chatUrl: URL;
  /** The bearer token, which is sent to this URL's host only; null for none. */
  readonly key: string | null;
  readonly timeoutMs: number;
  /** The timeout of requests that need no model; 5 s if it is left out. */
  readonly promptMs?: number;
  readonly signal?: AbortSignal;
}

/** The timeout for opening a connection, and by default for requests that need no model. */
const connectMs = 5000;

const maxAnswerBytes = 8 * 1024 * 1024;

/** An answer with more values is not parsed: 8 MiB of `{},` would take hundreds of megabytes. */
const maxAnswerValues = 200_000;

/**
 * Sends requests over connections of their own. Redirects are not followed and no proxy is used: the key reaches only the
 * host that was named.
 */
export function createSend({ chatUrl, key, timeoutMs, promptMs = connectMs, signal }: Target): Send {
  return async (request) => {
    if (request.wait !== undefined) await sleep(request.wait, undefined, { signal }).catch(() => {});
    const url = buildUrl(request.path, chatUrl);
    const token = request.key === 'wrong' ? 'wrong-key-of-the-doctor' : key;
    const longest = request.path === 'chat' ? timeoutMs : Math.min(timeoutMs, promptMs);
    return sendOnce(url, request, token, longest, signal);
  };
}

/** The URL of a path: `models` is a sibling of the Chat API, and any other path is at the host's root. */
function buildUrl(path: ProbeRequest['path'], chatUrl: URL): URL {
  if (path === 'chat') return chatUrl;
  if (path !== 'models') return new URL(path, chatUrl);
  const models = new URL(chatUrl);
  models.pathname = chatUrl.pathname.replace(/chat\/completions$/, 'models');
  return models;
}

/**
 * Removes a key from an answer, because servers quote keys. A short key may be an ordinary word: only the report hides
 * it.
 */
function hideLongKey(text: string, key: string | null): string {
  return key === null || key.length < 8 ? text : text.replaceAll(key, '[key]');
}

function sendOnce(
  url: URL,
  { path, body, until }: ProbeRequest,
  token: string | null,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const started = performance.now();
  const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve) => {
    let response: IncomingMessage | null = null;
    const pieces: Buffer[] = [];
    let size = 0;
    const settle = (outcome: Answer['outcome'], reason = '', whole = Buffer.concat(pieces)) => {
      clearTimeout(timer);
      clearTimeout(connecting);
      signal?.removeEventListener('abort', interrupt);
      request.destroy();
      const header = (name: string) => {
        const value = response?.headers[name];
        return typeof value === 'string' ? value : null;
      };
      resolve({
        outcome,
        status: response?.statusCode ?? 0,
        contentType: header('content-type'),
        keepAlive: header('keep-alive'),
        retryAfter: header('retry-after'),
        location: header('location'),
        body: hideLongKey(whole.toString('utf8'), token),
        reason,
        milliseconds: performance.now() - started,
      });
    };
    const request = send(url, {
      method: bytes === null ? undefined : 'POST',
      agent: false,
      headers: {
        accept: 'application/json, text/event-stream',
        // With this header the server says how long it would keep the connection.
        connection: 'keep-alive',
        'user-agent': 'responses-extproc-doctor',
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(bytes !== null && { 'content-type': 'application/json', 'content-length': bytes.length }),
      },
    });
    // A socket that is connected without a finished handshake belongs to a server without TLS.
    const connecting = setTimeout(
      () => settle('unreachable', request.socket?.connecting === false ? noTlsHandshake : 'ETIMEDOUT'),
      Math.min(connectMs, timeoutMs),
    );
    request.on('socket', (socket) => {
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
    });
    const interrupt = () => settle('unreachable', 'interrupted');
    signal?.addEventListener('abort', interrupt);
    const timer = setTimeout(() => settle('timed_out', `no complete answer within ${timeoutMs / 1000} s`), timeoutMs);
    request.on('error', (error: NodeJS.ErrnoException) => settle('unreachable', error.code ?? error.message));
    request.on('response', (incoming) => {
      response = incoming;
      incoming.on('data', (piece: Buffer) => {
        pieces.push(piece);
        size += piece.length;
        if (size > maxAnswerBytes) settle('too_large', `an answer over ${maxAnswerBytes / 1024 / 1024} MiB`);
        else if (until === 'first_event' && incoming.statusCode === 200 && piece.includes('data:')) settle('aborted');
      });
      incoming.on('end', () => {
        const { statusCode, headers } = incoming;
        const whole = Buffer.concat(pieces);
        // The chunks of a stream are parsed one at a time.
        const streamed = path === 'chat' && isStreamed(statusCode as number, headers['content-type'] ?? null);
        if (!streamed && hasMoreValues(whole.toString(), maxAnswerValues))
          settle('too_large', `an answer of over ${maxAnswerValues} values`, Buffer.alloc(0));
        else settle('answered', '', whole);
      });
      incoming.on('error', (error: NodeJS.ErrnoException) => settle('unreachable', error.code ?? error.message));
    });
    if (signal?.aborted) interrupt();
    else request.end(bytes ?? undefined);
  });
}

/** The error codes for a certificate whose issuer is unknown to this machine. */
const untrusted =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(?:_LOCALLY)?))$/;

/** The error of a connection whose TLS handshake did not finish in time. */
export const noTlsHandshake = 'no TLS handshake';

/** Explains for a terminal why a server could not be asked, and what to do. `reason` is the code of Node's error. */
export function explainUnreachable(reason: string, url: URL): string {
  const secure = url.protocol === 'https:';
  const place = `${url.hostname}:${url.port || (secure ? 443 : 80)}`;
  const otherScheme = `${secure ? 'http' : 'https'}://${url.host}${url.pathname}`;
  if (reason === 'ECONNREFUSED')
    return `nothing listens at ${place} (${reason}). Start the server, or correct the address.`;
  if (reason === 'ENOTFOUND' || reason === 'EAI_AGAIN')
    return `the name ${url.hostname} is not known (${reason}). Correct the address.`;
  if (['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'].includes(reason))
    return `no connection to ${place} could be made (${reason}). Is the address right, and no firewall in between?`;
  if (untrusted.test(reason))
    return `its certificate is not trusted here (${reason}). Set NODE_EXTRA_CA_CERTS to the PEM file of the authority that issued it, or of the certificate itself if it is self-signed.`;
  if (reason === 'CERT_HAS_EXPIRED')
    return `its certificate has expired (${reason}). It must be renewed on the server.`;
  if (reason === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `its certificate is for another name than ${url.hostname} (${reason}). Write the name that the certificate has.`;
  if (secure && (reason === noTlsHandshake || reason === 'EPROTO' || reason.startsWith('ERR_SSL')))
    return `it does not speak TLS on that port (${reason}). Try ${otherScheme}`;
  if (reason.startsWith('HPE_') || reason === 'EPROTO')
    return `it does not speak HTTP on that port (${reason}). Try ${otherScheme}`;
  if (reason === 'ECONNRESET' || reason === 'EPIPE')
    return `it closed the connection without an answer (${reason}). ${secure ? 'Does it speak TLS on that port? If not' : 'If it speaks TLS on that port'}, try ${otherScheme}`;
  return `the request failed: ${reason}.`;
}
