import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  readHealthRequest,
  type ServingStatus,
  writeHealthResponse,
} from '../../../../src/filter/extproc/health-messages.ts';
import { healthService } from '../../../../src/filter/extproc/methods.ts';
import { healthService as reference } from '../../../../src/filter/extproc/proto-definitions.ts';
import { codePoint } from '../../../support/code-point.ts';
import { runs } from '../../../support/property-runs.ts';

const serialize = (request: object) => reference['Check']?.requestSerialize(request) as Buffer;
const deserialize = (bytes: Buffer) => reference['Check']?.requestDeserialize(bytes);

test.each(['', 'liveness', 'envoy.service.ext_proc.v3.ExternalProcessor', 'x'.repeat(127)])(
  'a request for %j is read by hand',
  (service) => expect(readHealthRequest(serialize({ service }))).toEqual(deserialize(serialize({ service }))),
);

test.each([
  ['a long name', serialize({ service: 'x'.repeat(128) })],
  ['the name twice', Buffer.concat([serialize({ service: 'a' }), serialize({ service: 'b' })])],
  ['another field', Buffer.from([0x10, 1])],
])('a request with %s is left to protobufjs', (_what, bytes) => {
  expect(readHealthRequest(bytes)).toBeNull();
  expect(healthService.Check.requestDeserialize(bytes)).toEqual(deserialize(bytes));
});

test('whatever it is sent, it reads as protobufjs does', () => {
  const request = fc.oneof(
    fc.string({ maxLength: 300, unit: codePoint }).map((service) => serialize({ service })),
    fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
    fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from([0x0a, bytes.length, ...bytes])),
  );
  const outcome = (read: (bytes: Buffer) => unknown, bytes: Buffer) => {
    try {
      return read(bytes);
    } catch {
      return 'refused';
    }
  };
  fc.assert(
    fc.property(request, (bytes) => {
      expect(outcome(healthService.Watch.requestDeserialize, bytes)).toEqual(outcome(deserialize, bytes));
    }),
    { numRuns: runs(2000) },
  );
});

test.each<ServingStatus>(['SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'])('%s is written as protobufjs does', (status) =>
  expect(writeHealthResponse({ status })).toEqual(reference['Check']?.responseSerialize({ status })),
);
