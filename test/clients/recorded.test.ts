import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { answer } from './answers.ts';

interface Recording {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly stream?: boolean; readonly instructions?: string; readonly input: unknown } | null;
}

const folder = join(import.meta.dirname, 'recorded');
const recordings = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file): [string, Recording] => [file.slice(0, -5), JSON.parse(readFileSync(join(folder, file), 'utf8'))]);

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh({ environment: { UPSTREAM_PROFILE: 'vllm' } });
});
afterAll(() => mesh?.close());

for (const [name, { path, headers, body }] of recordings)
  if (body !== null && path === '/v1/responses')
    test(`${name}: answered, and every text of it reaches the server`, async () => {
      mesh.upstream.script(name, answer({ text: 'Hello!' }));
      const response = await mesh.post(body, { headers: { ...headers, 'x-test-script': name } });
      const text = await response.text();
      expect(response.status, text).toBe(200);
      expect(text).toContain(body.stream === true ? 'event: response.completed' : '"status":"completed"');

      const [request] = mesh.upstream.received(name);
      const arrived = JSON.stringify(request?.json().messages);
      const missing = [...textsOf([body.instructions ?? '', body.input])].filter(
        (part) => !arrived.includes(JSON.stringify(part).slice(1, -1)),
      );
      expect(missing).toEqual([]);
    });

/** An item for another agent has plain text where its name says otherwise. */
function readable(value: object): string[] {
  return 'type' in value && value.type === 'encrypted_content' ? ['encrypted_content'] : [];
}

/** Whatever a model is meant to read of an input: texts, tool arguments and results. */
function* textsOf(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const entry of value) yield* textsOf(entry);
  else if (typeof value === 'object' && value !== null)
    for (const key of ['content', 'text', 'output', 'stdout', 'stderr', ...readable(value)])
      yield* textsOf((value as Readonly<Record<string, unknown>>)[key]);
}
