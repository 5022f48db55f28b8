import { findEnvoy } from '../../mesh/envoy-binary.ts';

/** A global setup of vitest: installs Envoy, where it is missing, before the first test, whose time it would take. */
export default function installForTests(): void {
  findEnvoy(process.env);
}
