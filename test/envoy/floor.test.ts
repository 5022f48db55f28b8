import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { variants } from '../../bench/floor.ts';
import { findEnvoy } from '../../tools/mesh/envoy-binary.ts';
import type { EnvoyConfig } from '../../tools/mesh/envoy-config.ts';
import { shippedEnvoyConfig } from '../../tools/mesh/parts.ts';

const folder = mkdtempSync(join(tmpdir(), 'floor-'));
afterAll(() => rmSync(folder, { recursive: true }));
const shipped = readFileSync(shippedEnvoyConfig, 'utf8');

describe('what `npm run bench -- --only floor` changes in envoy.yaml', () => {
  const edited = variants.filter(({ options }) => options.edit !== undefined);

  it.each(edited.map(({ name, options }) => ({ name, options })))(
    '$name: is a change, and valid to Envoy',
    ({ options }) => {
      const config = parse(shipped) as EnvoyConfig;
      options.edit?.(config);
      expect(config).not.toEqual(parse(shipped));
      const file = join(folder, 'envoy.json');
      writeFileSync(file, JSON.stringify(config));
      const args = ['--mode', 'validate', '-l', 'error', '-c', file];
      const { status, stderr } = spawnSync(findEnvoy(process.env).path, args, { encoding: 'utf8' });
      expect(stderr).toBe('');
      expect(status).toBe(0);
    },
  );
});
