/**
 * Records what a Chat Completions server answers, as material for the tests:
 *
 *     node scripts/record/record-upstream.ts NAME http://127.0.0.1:8080/v1 MODEL [--profile vllm] [--note "version, model"]
 *     node scripts/record/record-upstream.ts embedded
 *
 * writes `test/recordings/NAME/`: for each request of `test/recordings/requests.json`, which are Responses requests, the
 * server's answer to its translation, once as JSON and once as a stream, byte for byte. UPSTREAM_API_KEY is sent as the
 * bearer token. `test/unit/recordings.test.ts` then checks each answer with all oracles; no expected result is written by hand.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startEmbeddedUpstream } from '../../mesh/upstream.ts';
import { translateRequest } from '../../src/filter/index.ts';
import { createCountedIds } from '../../test/support/context.ts';
import { createTestSettings } from '../../test/support/settings.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { profile: { type: 'string', default: 'generic' }, note: { type: 'string', default: '' } },
});
const [name = '', baseUrl = '', model = ''] = positionals;
const embedded = name === 'embedded' ? await startEmbeddedUpstream() : null;
if (embedded === null && (name === '' || baseUrl === '' || model === '')) {
  console.error('usage: node scripts/record/record-upstream.ts NAME BASE_URL MODEL [--profile NAME] [--note TEXT]');
  process.exit(2);
}

const recordings = new URL('../../test/recordings/', import.meta.url);
const folder = new URL(`${name}/`, recordings);
const target = embedded === null ? baseUrl : `http://127.0.0.1:${embedded.port}/v1`;
const requests = JSON.parse(readFileSync(new URL('requests.json', recordings), 'utf8')) as Record<string, object>;

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [label, request] of Object.entries(requests)) {
  for (const stream of [false, true]) await record(label, { model: model || 'demo-reasoning', ...request, stream });
}
const about = {
  profile: values.profile,
  model: model || 'demo-reasoning',
  note: values.note || 'The embedded upstream of `npm start`.',
  recorded: new Date().toISOString().slice(0, 10),
};
writeFileSync(new URL('about.json', folder), `${JSON.stringify(about, null, 2)}\n`);
await embedded?.close();

async function record(label: string, request: { readonly stream: boolean; readonly model: string }): Promise<void> {
  const clock = { now: () => 0, newId: createCountedIds() };
  const { chat } = translateRequest(request, createTestSettings({ profile: values.profile }), clock);
  const key = process.env['UPSTREAM_API_KEY'];
  const answer = await fetch(`${target}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify(chat),
  });
  const body = Buffer.from(await answer.arrayBuffer());
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  writeFileSync(new URL(`${label}${request.stream ? '.stream' : ''}.${isStream ? 'sse' : 'json'}`, folder), body);
  console.log(`${name}/${label}: ${answer.status}, ${body.length} bytes${request.stream ? ', stream' : ''}`);
}
