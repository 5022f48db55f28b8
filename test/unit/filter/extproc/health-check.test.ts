import fc from 'fast-check';
import { expect, test } from 'vitest';
import { healthService, type ServingStatus } from '../../../../src/filter/extproc/methods.ts';
import { codePoint } from '../../../support/code-point.ts';
import { runs } from '../../../support/property-runs.ts';
import { healthService as reference } from '../../../support/proto-definitions.ts';

const { requestSerialize, requestDeserialize } = reference.Check;
const serviceOf = (bytes: Buffer) => requestDeserialize(bytes).service ?? '';

test.each([
  ['no name', Buffer.alloc(0)],
  ['a long name', requestSerialize({ service: 'x'.repeat(128) })],
  ['the name twice', Buffer.concat([requestSerialize({ service: 'a' }), requestSerialize({ service: 'b' })])],
  ['another field', Buffer.from([0x10, 1])],
])('a request with %s is read as protobufjs reads it', (_what, bytes) => {
  expect(healthService.Check.requestDeserialize(bytes)).toEqual({ service: serviceOf(bytes) });
});

test('so is one for any name, and what is cut off is refused', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 300, unit: codePoint }), fc.nat(), (service, cut) => {
      const bytes = requestSerialize({ service });
      expect(healthService.Watch.requestDeserialize(bytes)).toEqual({ service: serviceOf(bytes) });
      const length = 1 + (cut % (bytes.length - 1));
      expect(() => healthService.Watch.requestDeserialize(bytes.subarray(0, length))).toThrow();
    }),
    { numRuns: runs(1000) },
  );
});

test.each<ServingStatus>(['SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'])('%s is written as protobufjs does', (status) =>
  expect(healthService.Check.responseSerialize({ status })).toEqual(reference.Check.responseSerialize({ status })),
);

test.each(['Check', 'Watch'] as const)('%s is the method of the protocol', (name) => {
  const { path, requestStream, responseStream } = reference[name];
  expect(healthService[name]).toMatchObject({ path, requestStream, responseStream });
});
