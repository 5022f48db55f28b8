/**
 * The filter's translation without Envoy: an HTTP server that makes a Chat Completions server speak the Responses API, with
 * the filter's interface and a reader of event streams alone. To read and to try: it has neither limits nor timeouts, which are the exchange's.
 *
 *     node docs/examples/without-envoy.ts http://127.0.0.1:11434/v1
 */

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import {
  ApiError,
  builtInProfiles,
  type Clock,
  chatRequestBody,
  encodeSseEvents,
  StreamTranslator,
  type TranslationSettings,
  translateCompletion,
  translateError,
  translateRequest,
} from '../../src/filter/index.ts';
import { readSseData } from '../../src/formats/sse/data.ts';
import { SseDecoder } from '../../src/formats/sse/sse-decoder.ts';

const profile = builtInProfiles.get('generic')?.profile;
if (profile === undefined) throw new Error('There is no profile generic.');

/** What the service reads from its environment: docs/settings.md has the meaning of each. */
const settings: TranslationSettings = {
  profile,
  defaultModel: null,
  omittedStore: 'accept',
  reasoningEvents: 'reasoning',
  reasoningAlone: 'completed',
  droppedTools: [],
  unknownItems: 'text',
  unknownFields: 'forward',
  strictEcho: false,
  orphanOutputs: 'reject',
  missingOutputs: 'reject',
  compaction: { prompt: 'Summarize the conversation.', maxTokens: 4096, contextWindow: null },
  catalog: { contextWindow: null, overrides: new Map(), instructions: '' },
  limits: {
    maxValues: 1e6,
    maxItems: 1e4,
    maxTools: 1e3,
    maxNesting: 100,
    maxTextBytes: 1e7,
    maxFileBytes: 1e8,
  },
};
/** Time in Unix seconds, and unique ids: the filter has neither of its own. */
const clock: Clock = { now: () => Date.now() / 1000, newId: (prefix: string) => `${prefix}_${randomUUID()}` };

async function respond(upstream: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { chat, passthrough, context } = translateRequest(await json(request), settings, clock);
  const answer = await fetch(`${upstream}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: request.headers.authorization ?? '' },
    body: JSON.stringify(chatRequestBody(chat, passthrough)),
  });
  if (!answer.ok) {
    const { status, headers } = answer;
    const [contentType, retryAfter] = [headers.get('content-type'), headers.get('retry-after')];
    throw translateError({ status, contentType, retryAfter, body: await answer.text() });
  }
  if (!context.stream) {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(translateCompletion(await answer.json(), context).response));
    return;
  }
  const decoder = new SseDecoder({ maxEventBytes: 1e7 });
  const translator = new StreamTranslator(context);
  response.setHeader('content-type', 'text/event-stream');
  for await (const piece of answer.body ?? []) {
    for (const message of decoder.push(piece)) {
      if (message.type !== 'event') continue;
      const data = readSseData(message.data);
      if (data === null) response.write(encodeSseEvents(translator.malformed(message.data)));
      for (const value of data?.values ?? []) response.write(encodeSseEvents(translator.push(value, message.event)));
      if (data?.done) response.write(encodeSseEvents(translator.finish('done')));
    }
  }
  response.end(encodeSseEvents(translator.finish('eof')));
}

/** A server that is not listening yet; `upstream` is the address of the Chat API, with its `/v1`. */
export function createResponsesServer(upstream: string): Server {
  return createServer((request, response) => {
    respond(upstream, request, response).catch((thrown: unknown) => {
      const error = ApiError.from(thrown);
      if (response.headersSent) response.destroy();
      else response.writeHead(error.status, { 'content-type': 'application/json' }).end(error.toJson());
    });
  });
}

if (import.meta.main) {
  const server = createResponsesServer(process.argv[2] ?? 'http://127.0.0.1:11434/v1');
  server.listen(8080, '127.0.0.1', () => console.log('http://127.0.0.1:8080/v1'));
}
