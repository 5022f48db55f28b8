import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../src/filter/translate/chat-to-response/completion.ts';
import type { ResponseContext } from '../../src/filter/translate/shared/context.ts';
import { translateRequest } from '../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import type { ResponseResource } from '../../src/filter/wire/schema/response-resource.ts';
import { findProfileOfHost } from '../../src/tools/doctor/proposal.ts';
import { createCountedIds } from '../support/context.ts';
import { faultsOfStream } from '../support/invariants.ts';
import { plainReading, saidBy } from '../support/plain-reading.ts';
import type { PublicAnswer } from '../support/public-answers.ts';
import { faultsOfEvent, faultsOfResponse } from '../support/published-schema.ts';
import { runStream, withoutKeepalives } from '../support/run-stream.ts';
import { readWithSdk } from '../support/sdk-accumulator.ts';
import { createTestSettings } from '../support/settings.ts';
import { inPiecesOf } from '../support/split.ts';
import { eventsOf } from '../support/stream-lines.ts';

/** Pydantic's echo of requests, which answers nothing. */
const notOfTheApi = /pathname"?[=:]"?\/bin\//;

/** Brought by `scripts/tests/public-recordings.ts`. */
const folder = join(import.meta.dirname, '../../.cache/public-recordings');
const recorded = readdirSync(folder)
  .filter((name) => name.endsWith('.jsonl'))
  .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean))
  .map((line) => JSON.parse(line) as PublicAnswer)
  .filter(({ status, body }) => status === 200 && !notOfTheApi.test(body));
const answers = [...new Map(recorded.map((answer) => [answer.body, answer])).values()];
const servers = [...new Set(answers.map(({ server }) => server))];

describe.each(servers)('%s', (server) => {
  const profile = findProfileOfHost(server)?.name ?? 'generic';
  const ofServer = answers.filter((answer) => answer.server === server);

  it.each(ofServer)('says what $source says', async ({ body, tools }) => {
    const context = (): ResponseContext => {
      const request = {
        model: 'test-model',
        input: 'Hi',
        tools: [...new Set(tools)].map((name) => ({ type: 'function', name })),
      };
      const clock = { now: () => 1_800_000_000, newId: createCountedIds() };
      return translateRequest(request, createTestSettings({ profile }), clock).context;
    };
    const said = plainReading(body);
    const isJson = body.trimStart().startsWith('{');
    if (isJson && isError(body)) {
      expect(() => translateCompletion(JSON.parse(body), context())).toThrow(ApiError);
      return;
    }
    if (isJson) {
      const { response } = translateCompletion(JSON.parse(body), context());
      expect(saidBy(response)).toEqual(said);
      expect(faultsOfResponse(response)).toEqual([]);
    }
    const upstream = Buffer.from(isJson ? asStream(body) : body);
    const { bytes, error } = runStream([upstream], context());
    expect(error).toBeNull();
    const text = bytes.toString('utf8');
    const events = eventsOf(text);
    const last = events.at(-1)?.['response'] as ResponseResource;
    expect(saidBy(last)).toEqual(said);
    expect(faultsOfStream(text)).toEqual([]);
    expect(events.flatMap((event) => faultsOfEvent(event))).toEqual([]);
    const reading = await readWithSdk(bytes);
    // A stream that failed at its server fails here, with the server's words.
    if (isError(body)) expect(reading).toEqual({ type: 'thrown', message: last.error?.message });
    else expect(reading).toEqual({ type: 'response', response: last });
    for (const size of [7, 1024]) {
      const { bytes: cut } = runStream(inPiecesOf(size, upstream), context());
      expect(withoutKeepalives(cut) === withoutKeepalives(bytes)).toBe(true);
    }
  });
});

/** Does the body, or a chunk of it, say that it failed? */
function isError(body: string): boolean {
  return /^(?:data: ?)?\s*\{\s*"error": ?\{|^data: .*"error": ?\{.*"(?:code|message)"/m.test(body);
}

/** A completion as a stream of one chunk. Gemini's mark means all of a delta, but not all of a message. */
function asStream(body: string): string {
  const completion = JSON.parse(body) as { choices: readonly { message?: { extra_content?: unknown } }[] };
  const choices = completion.choices.map(({ message: { extra_content: _mark, ...delta } = {}, ...choice }) => ({
    ...choice,
    delta,
  }));
  return `data: ${JSON.stringify({ ...completion, object: 'chat.completion.chunk', choices })}\n\ndata: [DONE]\n\n`;
}
