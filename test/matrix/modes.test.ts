import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findConnectionManager, findEnvoyRoute } from '../../mesh/envoy-config.ts';
import type { BodyMode } from '../../src/filter/exchange/types.ts';
import { askAndLeave, estimatedTokens } from '../support/leaving-client.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish, usage } from '../support/upstream.ts';
import { envoyVersions } from './versions.ts';

const modes = ['BUFFERED', 'STREAMED', 'FULL_DUPLEX_STREAMED'] as const;
const pairs = modes.flatMap((request) => modes.map((response) => [request, response] as const));

function meshIn(version: string, request: BodyMode, response: BodyMode): Promise<TestMesh> {
  return startTestMesh({
    ...envoyOf(version),
    edit(config) {
      const mode = findConnectionManager(config).http_filters[0].typed_config.processing_mode;
      mode['request_body_mode'] = request;
      mode['response_body_mode'] = response;
      // Full duplex demands trailers.
      mode['request_trailer_mode'] = request === 'FULL_DUPLEX_STREAMED' ? 'SEND' : 'SKIP';
      mode['response_trailer_mode'] = response === 'FULL_DUPLEX_STREAMED' ? 'SEND' : 'SKIP';
      if (request !== 'BUFFERED_PARTIAL') return;
      const route = findEnvoyRoute(config, 'responses');
      delete route['request_body_buffer_limit'];
    },
  });
}

function envoyOf(version: string) {
  const install = envoyVersions.get(version);
  if (install === undefined) throw new Error(`no Envoy ${version}`);
  return { envoy: install() };
}

const words = Array.from({ length: 40 }, (_, index) => `word${index} `);
const sse = [...words.map((content) => delta({ content })), finish('stop'), usage(3, 40), done];
const tooMany = {
  status: 429,
  headers: { 'retry-after': '7' },
  body: ['{"error":{"message":"slow down","type":"x","code":"rate_limit_exceeded"}}'],
};

describe.each([...envoyVersions.keys()])('Envoy %s', (version) => {
  describe.each(pairs)('request %s, response %s', (request, response) => {
    let mesh: TestMesh;
    beforeAll(async () => {
      mesh = await meshIn(version, request, response);
    });
    afterAll(() => mesh.close());

    // Larger than one of Envoy's pieces, so that a body arrives in several.
    const input = 'A long prompt. '.repeat(20_000);

    test('a JSON answer', async () => {
      mesh.upstream.script('json', { body: [completion({ content: words.join('') })] });
      const answer = await mesh.client.responses.create({ model: 'json', input });
      expect(answer).toMatchObject({ status: 'completed', output_text: words.join('') });
      expect(mesh.upstream.received('json')[0]).toMatchObject({ path: '/v1/chat/completions' });
      expect(mesh.upstream.received('json')[0]?.json().messages).toEqual([{ role: 'user', content: input }]);
    });

    test('an event stream', async () => {
      mesh.upstream.script('sse', { headers: eventStream, body: sse });
      const answer = await mesh.client.responses.stream({ model: 'sse', input }).finalResponse();
      expect(answer).toMatchObject({ status: 'completed', output_text: words.join(''), usage: { output_tokens: 40 } });
    });

    test('a client that leaves pays for what it was given', async () => {
      // A buffered answer is given when it is whole.
      const isGiven = response !== 'BUFFERED';
      const deltas = ['One ', 'two ', 'and many more in one.'].map((content) => delta({ content }));
      mesh.upstream.script('left', { headers: eventStream, body: [...deltas, 60_000] });
      await askAndLeave(mesh, { model: 'left', stream: true, leaves: isGiven ? { after: 'many more' } : 'unread' });
      const line = await mesh.accessLog(({ request_id }) => request_id === 'left');
      expect(line).toMatchObject({ outcome: 'aborted', ...estimatedTokens(mesh, 'left', isGiven ? 8 : 0) });
    });

    if (response !== 'BUFFERED')
      test('the stream is incremental', async () => {
        let letGo = () => {};
        const held = new Promise<void>((resolve) => {
          letGo = resolve;
        });
        const [first = '', ...rest] = sse;
        mesh.upstream.script('held', { headers: eventStream, body: [first, () => held, ...rest] });
        let text = '';
        for await (const event of await mesh.client.responses.create({ model: 'held', input, stream: true })) {
          if (event.type !== 'response.output_text.delta') continue;
          text += event.delta;
          letGo();
        }
        expect(text).toBe(words.join(''));
      });

    test.each([false, true])('a refusal (stream: %s)', async (stream) => {
      const answer = await mesh.post({ model: 'refused', input, stream, previous_response_id: 'resp_1' });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { code: 'previous_response_not_found' } });
      // In STREAMED the headers have gone; the upstream sees a request that breaks off.
      for (const received of mesh.upstream.received('refused')) expect(received.body.length).toBe(0);
      if (request !== 'STREAMED') expect(mesh.upstream.received('refused')).toEqual([]);
    });

    test.each([false, true])('an upstream error (stream: %s)', async (stream) => {
      mesh.upstream.script('error', tooMany);
      const answer = await mesh.post({ model: 'error', input, stream });
      expect(answer.status).toBe(429);
      expect(answer.headers.get('retry-after')).toBe('7');
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(await answer.json()).toMatchObject({ error: { type: 'too_many_requests', code: 'rate_limit_exceeded' } });
    });

    test('a path that only passes', async () => {
      mesh.upstream.script('other', { body: ['theirs'] });
      const answer = await mesh.post({ model: 'other' }, { path: '/v1/chat/completions' });
      expect(await answer.text()).toBe('theirs');
    });
  });

  test.each<[BodyMode, BodyMode]>([
    ['NONE', 'FULL_DUPLEX_STREAMED'],
    ['BUFFERED', 'NONE'],
  ])('request %s, response %s: refused, since a body would pass unseen', async (request, response) => {
    const mesh = await meshIn(version, request, response);
    try {
      mesh.upstream.script('m', { body: [completion({ content: 'Never.' })] });
      const answer = await mesh.post({ model: 'm', input: 'Hi' });
      expect(answer.status).toBe(500);
      expect(await answer.json()).toMatchObject({ error: { type: 'server_error' } });
      expect(mesh.upstream.received('m')).toEqual([]);
    } finally {
      await mesh.close();
    }
  });

  test('BUFFERED_PARTIAL both ways: what fits into Envoy’s buffer works, what does not is refused', async () => {
    const mesh = await meshIn(version, 'BUFFERED_PARTIAL', 'BUFFERED_PARTIAL');
    const long = 'x'.repeat(3_000_000); // the listener's buffer holds 1 MiB
    try {
      mesh.upstream.script(
        'm',
        { body: [completion({ content: 'Fits.' })] },
        { body: [completion({ content: long })] },
      );
      expect((await mesh.client.responses.create({ model: 'm', input: 'Hi' })).output_text).toBe('Fits.');
      expect((await mesh.post({ model: 'm', input: 'Hi' })).status).toBe(502);
      expect((await mesh.post({ model: 'm', input: long })).status).toBe(413);
      expect(mesh.upstream.received('m')).toHaveLength(2);
    } finally {
      await mesh.close();
    }
  });
});
