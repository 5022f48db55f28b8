import { describe } from 'vitest';
import { testDeadReplicas } from '../support/replica-scenarios.ts';
import { envoyVersions } from './versions.ts';

describe.each([...envoyVersions])('two replicas behind Envoy %s', (_version, install) => testDeadReplicas(install));
