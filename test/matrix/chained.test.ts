import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findCluster, findConnectionManager } from '../../mesh/envoy-config.ts';
import { addClusterLike } from '../support/envoy-clusters.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish } from '../support/upstream.ts';
import { type EndpointPicker, startEndpointPicker } from './endpoint-picker.ts';
import { envoyVersions } from './versions.ts';

/** From here on Envoy cuts nothing where two full-duplex filters follow each other (envoy#41654, #43983, fixed by #45617). */
const firstSound = '1.39.3';

const rounds = 60;
const words = Array.from({ length: 200 }, (_, index) => `word${index} `);
const long = 'A long answer. '.repeat(20_000);
const prompts = { small: 'Hi', large: 'A long prompt. '.repeat(90_000) }; // the second has 1.3 MB

function meshWithPicker(envoy: string, place: string, picker: EndpointPicker): Promise<TestMesh> {
  const install = envoyVersions.get(envoy);
  if (install === undefined) throw new Error(`no Envoy ${envoy}`);
  return startTestMesh({
    envoy: install(),
    edit(config) {
      addClusterLike(config, 'responses_extproc', 'picker', { host: '127.0.0.1', port: picker.port });
      delete findCluster(config, 'picker')['health_checks'];
      const filters = findConnectionManager(config).http_filters as unknown as object[];
      const filter = {
        name: 'picker',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor',
          grpc_service: { envoy_grpc: { cluster_name: 'picker' } },
          message_timeout: '120s',
          // As Istio and Envoy Gateway configure an endpoint picker.
          processing_mode: {
            request_header_mode: 'SEND',
            request_body_mode: 'FULL_DUPLEX_STREAMED',
            request_trailer_mode: 'SEND',
            response_header_mode: 'SEND',
            response_body_mode: 'FULL_DUPLEX_STREAMED',
            response_trailer_mode: 'SEND',
          },
        },
      };
      filters.splice(place === 'in front' ? 0 : 1, 0, filter);
    },
  });
}

/** What became of one answer; `false` for text that is not whole and looks as if it were. */
async function outcomeOf(answer: Promise<{ output_text: string; status?: string }>, expected: string) {
  try {
    const { output_text, status } = await answer;
    return output_text === expected ? 'whole' : status === 'completed' ? 'altered' : 'failed';
  } catch {
    return 'failed'; // the SDK was told, or saw that the end is missing
  }
}

function isBefore(version: string, other: string): boolean {
  return version.localeCompare(other, 'en', { numeric: true }) < 0;
}

describe.each([...envoyVersions.keys()])('Envoy %s, and an endpoint picker in full duplex', (version) => {
  describe.each(['in front', 'behind'])('%s', (place) => {
    let picker: EndpointPicker;
    let mesh: TestMesh;
    beforeAll(async () => {
      picker = await startEndpointPicker();
      mesh = await meshWithPicker(version, place, picker);
    });
    afterAll(async () => {
      await mesh.close();
      picker.close();
    });

    test('answers are whole, or (where Envoy is older) fail visibly', async () => {
      mesh.upstream.script('json', { body: [completion({ content: long })] });
      const events = [...words.map((content) => delta({ content })), finish('stop'), done];
      mesh.upstream.script('sse', { headers: eventStream, body: events });
      const counts = { small: { whole: 0, failed: 0, altered: 0 }, large: { whole: 0, failed: 0, altered: 0 } };
      for (let round = 0; round < rounds; round += 1) {
        const size = round % 2 === 0 ? 'small' : 'large';
        const input = prompts[size];
        const outcomes = await Promise.all([
          outcomeOf(mesh.client.responses.create({ model: 'json', input }), long),
          outcomeOf(mesh.client.responses.stream({ model: 'sse', input }).finalResponse(), words.join('')),
        ]);
        for (const outcome of outcomes) counts[size][outcome] += 1;
      }
      console.log(`Envoy ${version}, picker ${place}: ${JSON.stringify(counts)}`);
      expect(counts.small.altered + counts.large.altered).toBe(0);
      if (isBefore(version, firstSound)) return;
      expect(counts).toEqual({
        small: { whole: rounds, failed: 0, altered: 0 },
        large: { whole: rounds, failed: 0, altered: 0 },
      });
    }, 300_000);

    test(`the picker sees ${place === 'behind' ? 'Chat Completions' : 'the Responses API'}`, async () => {
      mesh.upstream.script('seen', { body: [completion({ content: 'Hi' })] });
      await mesh.post({ model: 'seen', input: 'Hello' });
      const body = picker.seen.findLast(({ model }) => model === 'seen');
      expect(Object.keys(body ?? {})).toContain(place === 'behind' ? 'messages' : 'input');
      expect(mesh.upstream.received('seen')[0]?.headers).toMatchObject({
        'x-gateway-destination-endpoint': '127.0.0.1:8000',
      });
    });
  });
});
