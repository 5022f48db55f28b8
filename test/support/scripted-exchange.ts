import type { BodyModes } from '../../src/filter/exchange/types.ts';
import type { ExtProcCall, ExtProcClient } from './extproc-client.ts';
import type { ProcessingResponse__Output as ProcessingResponse } from './generated/envoy/service/ext_proc/v3/ProcessingResponse.ts';

const modes: BodyModes = { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' };

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * A call in which Envoy has sent the whole request: `last` is the reply that decides, the translated body or an
 * immediate response.
 */
export async function sendRequest(
  client: ExtProcClient,
  body: string | Buffer,
  { headers = {}, metadata = {} }: RequestOptions = {},
): Promise<{ call: ExtProcCall; last: ProcessingResponse }> {
  const bytes = Buffer.from(body);
  const call = client.open(modes, metadata);
  const all = {
    ':method': 'POST',
    ':path': '/v1/responses',
    'content-type': 'application/json',
    'content-length': String(bytes.length),
    'x-request-id': 'request-1',
    ...headers,
  };
  call.send({ type: 'request_headers', headers: new Map(Object.entries(all)), endOfStream: false });
  const first = await call.next();
  if (first.immediate_response !== undefined) return { call, last: first };
  call.send({ type: 'request_body', body: bytes, endOfStream: true });
  return { call, last: await call.next() };
}

/** The upstream begins to stream: its headers and one delta. Resolves when the client would have seen text. */
export async function beginStream(call: ExtProcCall): Promise<void> {
  const headers = new Map([
    [':status', '200'],
    ['content-type', 'text/event-stream'],
  ]);
  call.send({ type: 'response_headers', headers, endOfStream: false });
  sendChunk(call, { choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' } }], model: 'm-2' });
  await untilText(call, 'response.output_text.delta');
}

/** The upstream ends its stream normally. Resolves when the client would have seen the end. */
export async function endStream(call: ExtProcCall): Promise<void> {
  sendChunk(call, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  sendChunk(call, {
    choices: [],
    usage: {
      prompt_tokens: 11,
      completion_tokens: 7,
      total_tokens: 18,
      completion_tokens_details: { reasoning_tokens: 2 },
    },
  });
  call.send({ type: 'response_body', body: Buffer.from('data: [DONE]\n\n'), endOfStream: true });
  await untilText(call, 'response.completed');
}

/** Data of the upstream's that is not JSON, in the middle of its stream. */
export function sendWords(call: ExtProcCall, words: string): void {
  call.send({ type: 'response_body', body: Buffer.from(`data: ${words}\n\n`), endOfStream: false });
}

function sendChunk(call: ExtProcCall, chunk: object): void {
  call.send({ type: 'response_body', body: Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`), endOfStream: false });
}

async function untilText(call: ExtProcCall, text: string): Promise<void> {
  for (let seen = ''; !seen.includes(text); ) {
    const reply = await call.next();
    if (reply.immediate_response !== undefined) throw new Error(`refused: ${reply.immediate_response.body}`);
    seen += reply.response_body?.response?.body_mutation?.streamed_response?.body?.toString() ?? '';
  }
}
