import { Exchange } from '../../src/filter/exchange/exchange.ts';
import type { ExchangeOptions } from '../../src/filter/exchange/options.ts';
import type { BodyMode, ExchangeEvent, ExchangeReply, HeaderMutation } from '../../src/filter/exchange/types.ts';
import { exchangeOptions, repliesOf } from './exchange-options.ts';

/**
 * Envoy's side of an exchange, with its rules: what it sends in each body mode, what it waits for, what it does with the
 * replies, and what it would answer with an error. A reply that breaks a rule throws. Written from the protocol, independent of the service's legs.
 */

/** An HTTP message: as a client or an upstream sends it, or as it arrives. */
export interface HttpMessage {
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it is cut by the network; none for a message that ends with its headers. */
  readonly pieces: readonly Uint8Array[];
  readonly trailers?: boolean;
}

export interface Arrived {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  readonly ended: 'headers' | 'body' | 'trailers';
  /** The immediate response's own, when that is what arrived. */
  readonly details: string | null;
}

export interface Played {
  /** What reached the upstream; null if the service answered instead. */
  readonly upstream: Arrived | null;
  readonly client: Arrived;
  readonly exchange: Exchange;
}

/** Bytes Envoy keeps of a body in `BUFFERED_PARTIAL` before it sends what it has. */
const partialLimit = 512 * 1024;

/** A request and its answer through one exchange. */
export function play(request: HttpMessage, answer: HttpMessage, options: Partial<ExchangeOptions> = {}): Played {
  const complete = exchangeOptions(options);
  const exchange = new Exchange(complete);
  const sent = carry('request', request, complete.modes.request, exchange);
  if (sent.details !== null) return { upstream: null, client: sent, exchange };
  const client = carry('response', answer, complete.modes.response, exchange);
  return { upstream: sent, client, exchange };
}

type Side = 'request' | 'response';

class Immediate {
  readonly arrived: Arrived;
  constructor(arrived: Arrived) {
    this.arrived = arrived;
  }
}

/** One direction of the exchange: the message as it was sent in, as it comes out. */
export function carry(side: Side, message: HttpMessage, mode: BodyMode, exchange: Exchange): Arrived {
  try {
    return mode === 'FULL_DUPLEX_STREAMED'
      ? fullDuplex(side, message, exchange)
      : oneByOne(side, message, mode, exchange);
  } catch (thrown) {
    if (thrown instanceof Immediate) return thrown.arrived;
    throw thrown;
  }
}

function eventsOf(side: Side, { headers, pieces, trailers = false }: HttpMessage, mode: BodyMode): ExchangeEvent[] {
  const bodiless = pieces.length === 0 && !trailers;
  const events: ExchangeEvent[] = [
    { type: `${side}_headers`, headers: new Map(Object.entries(headers)), endOfStream: bodiless },
  ];
  const whole = Buffer.concat(pieces);
  switch (mode) {
    case 'NONE':
      break;
    case 'BUFFERED':
      if (!bodiless) events.push({ type: `${side}_body`, body: whole, endOfStream: true });
      break;
    case 'BUFFERED_PARTIAL':
      if (!bodiless) {
        const cut = whole.length > partialLimit;
        const body = cut ? whole.subarray(0, partialLimit) : whole;
        events.push({ type: `${side}_body`, body, endOfStream: !cut && !trailers });
      }
      break;
    case 'STREAMED':
    case 'FULL_DUPLEX_STREAMED':
      for (const [index, body] of pieces.entries())
        events.push({ type: `${side}_body`, body, endOfStream: !trailers && index === pieces.length - 1 });
  }
  if (trailers) events.push({ type: `${side}_trailers` });
  return events;
}

/** Every mode but full duplex: each message has exactly one reply, of the same kind. */
function oneByOne(side: Side, message: HttpMessage, mode: BodyMode, exchange: Exchange): Arrived {
  let headers: ReadonlyMap<string, string> = new Map(Object.entries(message.headers));
  const bodies: Uint8Array[] = mode === 'NONE' ? [...message.pieces] : [];
  let bodyChanged = false;
  for (const event of eventsOf(side, message, mode)) {
    const replies = repliesOf(exchange, event);
    if (replies.length !== 1) throw new Error(`${event.type} in ${mode} had ${replies.length} replies`);
    const [reply] = replies as [ExchangeReply];
    if (reply.type === 'immediate_response') throw new Immediate(immediate(reply));
    if (reply.type !== event.type) throw new Error(`${event.type} was answered with ${reply.type}`);
    if (reply.type === `${side}_headers` && 'headers' in reply && reply.headers)
      headers = mutated(headers, reply.headers);
    if (reply.type !== `${side}_body` || event.type !== `${side}_body`) continue;
    if (!('body' in event) || !('endOfStream' in reply)) continue;
    if (reply.headers !== undefined) {
      if (mode !== 'BUFFERED') throw new Error(`Envoy ignores headers in a body reply in ${mode}`);
      headers = mutated(headers, reply.headers);
    }
    bodyChanged ||= reply.body !== undefined;
    bodies.push(reply.body ?? event.body);
  }
  // Everywhere but in BUFFERED the header is removed before the service is asked.
  const length = headers.get('content-length');
  const body = Buffer.concat(bodies);
  if (mode === 'BUFFERED' && bodyChanged && length !== undefined && Number(length) !== body.length)
    throw new Error(`content-length is ${length}, the body has ${body.length} bytes`);
  return { headers, body, ended: endOf(message), details: null };
}

/** Full duplex: any number of replies; headers, then bodies, then the end of stream or the trailers. */
function fullDuplex(side: Side, message: HttpMessage, exchange: Exchange): Arrived {
  let headers: ReadonlyMap<string, string> | null = null;
  const bodies: Uint8Array[] = [];
  let ended: Arrived['ended'] | null = null;
  for (const event of eventsOf(side, message, 'FULL_DUPLEX_STREAMED')) {
    for (const reply of repliesOf(exchange, event)) {
      if (ended === 'body' || ended === 'trailers') throw new Error(`${reply.type} after the end`);
      if (reply.type === 'immediate_response') {
        if (headers !== null) throw new Error('an immediate response after the headers resets the client');
        throw new Immediate(immediate(reply));
      }
      if (reply.type === `${side}_headers`) {
        if (headers !== null) throw new Error('headers twice');
        headers = mutated(new Map(Object.entries(message.headers)), 'headers' in reply ? (reply.headers ?? {}) : {});
        if (message.pieces.length === 0) ended = 'headers';
      } else if (reply.type === `${side}_body` && 'endOfStream' in reply) {
        if (headers === null) throw new Error('a body before the headers');
        if (reply.body === undefined) throw new Error('an empty body reply ends the body in full duplex');
        if (reply.headers !== undefined) throw new Error('Envoy ignores headers in a body reply in full duplex');
        if (reply.endOfStream && message.trailers) throw new Error('an end of stream where trailers came');
        bodies.push(reply.body);
        if (reply.endOfStream) ended = 'body';
      } else if (reply.type === `${side}_trailers`) {
        if (headers === null) throw new Error('trailers before the headers');
        ended = 'trailers';
      } else throw new Error(`${reply.type} on the side of the ${side}`);
    }
  }
  if (headers === null || ended === null) throw new Error(`Envoy waits for ever for the ${side}`);
  return { headers, body: Buffer.concat(bodies), ended, details: null };
}

function endOf({ pieces, trailers = false }: HttpMessage): Arrived['ended'] {
  if (trailers) return 'trailers';
  return pieces.length === 0 ? 'headers' : 'body';
}

function mutated(headers: ReadonlyMap<string, string>, { set = {}, remove = [] }: HeaderMutation) {
  const changed = new Map(headers);
  for (const name of remove) {
    if (name.startsWith(':') || name === 'host') throw new Error(`${name} cannot be removed`);
    changed.delete(name);
  }
  for (const [name, value] of Object.entries(set)) {
    if ([':method', ':authority', ':scheme', 'host'].includes(name)) throw new Error(`${name} cannot be set`);
    changed.set(name, value);
  }
  return changed;
}

function immediate(reply: Extract<ExchangeReply, { type: 'immediate_response' }>): Arrived {
  if (/\s/.test(reply.details)) throw new Error('details with a space break the access log');
  const headers = new Map([...Object.entries(reply.headers), [':status', String(reply.status)]]);
  return { headers, body: Buffer.from(reply.body), ended: 'body', details: reply.details };
}
