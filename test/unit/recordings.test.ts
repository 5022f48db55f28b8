import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../src/filter/translate/chat-to-response/completion.ts';
import type { ResponseContext } from '../../src/filter/translate/shared/context.ts';
import { translateRequest } from '../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import type { OutputItem, ResponseResource } from '../../src/filter/wire/schema/response-resource.ts';
import { createCountedIds } from '../support/context.ts';
import { faultsOfStream } from '../support/invariants.ts';
import { faultsOfEvent, faultsOfResponse } from '../support/published-schema.ts';
import { runStream, withoutKeepalives } from '../support/run-stream.ts';
import { readWithSdk } from '../support/sdk-accumulator.ts';
import { createTestSettings } from '../support/settings.ts';
import { inPiecesOf } from '../support/split.ts';
import { eventsOf } from '../support/stream-lines.ts';

/** Made by `scripts/record/record-upstream.ts`; what must come of them is written nowhere, it has to satisfy the oracles. */
const recordings = new URL('../recordings/', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, recordings));
const requests = JSON.parse(read('requests.json').toString()) as Record<string, object>;
const servers = readdirSync(recordings, { withFileTypes: true }).filter(({ name }) =>
  existsSync(new URL(`${name}/about.json`, recordings)),
);

describe.each(servers.map(({ name }) => name))('as recorded from %s', (server) => {
  const about = JSON.parse(read(`${server}/about.json`).toString()) as {
    profile: string;
    model: string;
    /** Requests for which the server's own two answers differ, with the reason. */
    differing?: Readonly<Record<string, string>>;
  };

  describe.each(Object.entries(requests))('%s', (label, request) => {
    function context(): ResponseContext {
      const clock = { now: () => 1_800_000_000, newId: createCountedIds() };
      const settings = createTestSettings({ profile: about.profile });
      return translateRequest({ model: about.model, stream: true, ...request }, settings, clock).context;
    }
    const upstream = read(`${server}/${label}.stream.sse`);
    const { bytes: stream } = runStream([upstream], context());
    const events = eventsOf(stream.toString('utf8'));
    const last = events.at(-1)?.['response'] as ResponseResource;

    it('keeps every rule of a Responses stream', () => {
      expect(faultsOfStream(stream.toString('utf8'))).toEqual([]);
    });

    it.each([1, 2, 3, 7, 64, 1024])('gives the same bytes in pieces of %i', (size) => {
      const { bytes } = runStream(inPiecesOf(size, upstream), context());
      expect(withoutKeepalives(bytes) === withoutKeepalives(stream)).toBe(true);
    });

    it('reads in the OpenAI SDK as its terminal event says', async () => {
      const reading = await readWithSdk(stream);
      if (last.error === null) expect(reading).toEqual({ type: 'response', response: last });
      else expect(reading).toEqual({ type: 'thrown', message: last.error.message });
    });

    const json = JSON.parse(read(`${server}/${label}.json`).toString());
    const reason = about.differing?.[label];
    if (reason !== undefined)
      it(`differs from the JSON answer to the same request: ${reason}`, () => {
        const { response } = translateCompletion(json, context());
        expect(last.status).toBe(response.status);
        expect(last.output.map(withoutIds)).not.toEqual(response.output.map(withoutIds));
      });
    else
      it('agrees with the JSON answer to the same request', () => {
        try {
          const { response } = translateCompletion(json, context());
          expect(last.status).toBe(response.status);
          expect(last.output.map(withoutIds)).toEqual(response.output.map(withoutIds));
        } catch (thrown) {
          if (!(thrown instanceof ApiError)) throw thrown;
          expect(last.error?.code).toBe(thrown.code);
        }
      });

    it('is valid against the published schema, event by event', () => {
      expect(events.flatMap((event) => faultsOfEvent(event))).toEqual([]);
      expect(faultsOfResponse(last)).toEqual([]);
    });
  });
});

it('every recording answers a request that is asked: none is left over, and none is missing', () => {
  const answers = Object.keys(requests).flatMap((label) => [`${label}.json`, `${label}.stream.sse`]);
  for (const { name } of servers)
    expect(readdirSync(new URL(name, recordings)).toSorted(), name).toEqual(['about.json', ...answers].toSorted());
  const folders = readdirSync(recordings, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const others = folders.map(({ name }) => name).filter((name) => !servers.some((server) => server.name === name));
  expect(others.toSorted(), 'each of these has a test that reads it whole').toEqual(['doctor', 'raw']);
});

/** Some servers mint a call's id anew for each answer. */
function withoutIds(item: OutputItem): OutputItem {
  return { ...item, id: '', ...('call_id' in item && { call_id: '' }) };
}
