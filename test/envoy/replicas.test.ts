import { describe } from 'vitest';
import { findEnvoy } from '../../tools/mesh/envoy-binary.ts';
import { testDeadReplicas } from '../support/replica-scenarios.ts';

describe('two replicas', () => testDeadReplicas(() => findEnvoy(process.env)));
