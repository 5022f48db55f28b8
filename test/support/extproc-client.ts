import { Client, type ClientDuplexStream, credentials, Metadata, type StatusObject } from '@grpc/grpc-js';
import type { BodyModes, ExchangeEvent } from '../../src/filter/exchange/types.ts';
import type { ProcessingRequest } from './generated/envoy/service/ext_proc/v3/ProcessingRequest.ts';
import type { ProcessingResponse__Output as ProcessingResponse } from './generated/envoy/service/ext_proc/v3/ProcessingResponse.ts';
import { processMethod } from './proto-definitions.ts';

/** Plays Envoy's side of ext_proc over a real connection. */
export interface ExtProcClient {
  /** A call, as Envoy opens one for an HTTP request; `metadata` is what the route's configuration adds. */
  open(modes: BodyModes | null, metadata?: Readonly<Record<string, string>>): ExtProcCall;
  close(): void;
}

export interface ExtProcCall {
  send(event: ExchangeEvent): void;
  sendRaw(message: ProcessingRequest): void;
  /** The next reply; rejects when the call is over. */
  next(): Promise<ProcessingResponse>;
  /** Replies that arrived and were not read yet. */
  readonly waiting: number;
  /** Resets the call, as Envoy does when it has what it needs. */
  cancel(): void;
  /** Half-closes the call: nothing more is sent. */
  halfClose(): void;
  /** Pauses and resumes reading replies from the connection. */
  pause(): void;
  resume(): void;
  readonly status: Promise<StatusObject>;
}

export function connectExtProc(address: string): ExtProcClient {
  const client = new Client(address, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.use_local_subchannel_pool': 1,
  });
  return {
    open: (modes, metadata = {}) => openCall(client, modes, metadata),
    close: () => client.close(),
  };
}

function openCall(client: Client, modes: BodyModes | null, metadata: Readonly<Record<string, string>>): ExtProcCall {
  const initial = new Metadata();
  for (const [key, value] of Object.entries(metadata)) initial.set(key, value);
  const { path, requestSerialize, responseDeserialize } = processMethod;
  const call: ClientDuplexStream<ProcessingRequest, ProcessingResponse> = client.makeBidiStreamRequest(
    path,
    requestSerialize,
    responseDeserialize,
    initial,
  );
  const replies: ProcessingResponse[] = [];
  const waiters: { resolve(reply: ProcessingResponse): void; reject(error: Error): void }[] = [];
  let over: StatusObject | null = null;
  let first = true;
  call.on('data', (reply: ProcessingResponse) => {
    const waiter = waiters.shift();
    if (waiter === undefined) replies.push(reply);
    else waiter.resolve(reply);
  });
  call.on('error', () => {});
  const status = new Promise<StatusObject>((resolve) => {
    call.on('status', (ended: StatusObject) => {
      over = ended;
      resolve(ended);
      for (const waiter of waiters.splice(0)) waiter.reject(overError(ended));
    });
  });
  function sendRaw(message: ProcessingRequest): void {
    const config =
      first && modes !== null
        ? { protocol_config: { request_body_mode: modes.request, response_body_mode: modes.response } }
        : {};
    first = false;
    call.write({ ...message, ...config });
  }
  return {
    send: (event) => sendRaw(messageOf(event)),
    sendRaw,
    next() {
      const reply = replies.shift();
      if (reply !== undefined) return Promise.resolve(reply);
      if (over !== null) return Promise.reject(overError(over));
      return new Promise((resolve, reject) => waiters.push({ resolve, reject }));
    },
    get waiting() {
      return replies.length;
    },
    cancel: () => call.cancel(),
    halfClose: () => call.end(),
    pause: () => call.pause(),
    resume: () => call.resume(),
    status,
  };
}

function overError({ code, details }: StatusObject): Error {
  return new Error(`The call is over: ${code} ${details}`);
}

/** An event as the message Envoy sends for it. */
export function messageOf(event: ExchangeEvent): ProcessingRequest {
  switch (event.type) {
    case 'request_headers':
    case 'response_headers': {
      const headers = [...event.headers].map(([key, value]) => ({ key, raw_value: Buffer.from(value) }));
      const message = { [event.type]: { headers: { headers }, end_of_stream: event.endOfStream } };
      if (event.type === 'request_headers' || event.attributes === undefined) return message;
      const fields = Object.fromEntries([...event.attributes].map(([name, stringValue]) => [name, { stringValue }]));
      return { ...message, attributes: { 'envoy.filters.http.ext_proc': { fields } } };
    }
    case 'request_body':
    case 'response_body':
      return { [event.type]: { body: event.body, end_of_stream: event.endOfStream } };
    case 'request_trailers':
    case 'response_trailers':
      return { [event.type]: { trailers: { headers: [] } } };
  }
}
