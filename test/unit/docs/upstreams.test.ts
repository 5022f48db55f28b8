import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { jsonSchemaFile, jsonSchemaText, upstreamsFile, withProfileDocs } from '../../../scripts/profile-docs.ts';
import { readProfilesFile } from '../../../src/upstream/profiles-file.ts';

const upstreams = readFileSync(upstreamsFile, 'utf8');

test('docs/upstreams.md is written from the profiles (else: node scripts/profile-docs.ts)', () => {
  expect(upstreams).toBe(withProfileDocs(upstreams));
});

test('the JSON schema of a profiles file is the one that is read (else: node scripts/profile-docs.ts)', () => {
  expect(readFileSync(jsonSchemaFile, 'utf8')).toBe(jsonSchemaText());
});

test('the example of a profiles file is valid', () => {
  const example = /```yaml\n([^`]+)```/.exec(upstreams)?.[1] ?? '';
  expect([...readProfilesFile(example, join('docs', 'upstreams.md')).keys()]).toEqual(['team-vllm']);
});
