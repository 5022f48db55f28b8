import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readProfilesFile } from '../../../src/filter/upstream/profiles-file.ts';

const upstreams = readFileSync(join(import.meta.dirname, '../../../docs/upstreams.md'), 'utf8');

test('the example of a profiles file is valid', () => {
  const example = /```yaml\n([^`]+)```/.exec(upstreams)?.[1] ?? '';
  expect([...readProfilesFile(example, join('docs', 'upstreams.md')).keys()]).toEqual(['team-vllm']);
});
