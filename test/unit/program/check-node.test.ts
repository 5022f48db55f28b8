import { expect, it } from 'vitest';
import { nodeTooOld } from '../../../src/program/check-node.ts';

it.each([
  ['18.20.8', false],
  ['20.20.2', false],
  ['22.21.9', false],
  ['22.22.1', false],
  ['22.22.2', true],
  ['22.22.10', true],
  ['22.23.0', true],
  ['23.99.99', false],
  ['24.14.0', false],
  ['24.14.1', true],
  ['24.13.9', false],
  ['24.21.0', true],
  ['25.8.1', false],
  ['25.8.2', true],
  ['25.9.0', true],
  ['26.0.0', true],
  ['26.0.0-nightly', false],
  ['27.0.0', true],
])('Node %s is enough: %j', (version, isEnough) => {
  expect(nodeTooOld(version)).toBe(
    isEnough
      ? null
      : `This is Node ${version}; responses-extproc needs Node 22.22.2, 24.14.1, 25.8.2, 26.0.0 or later: older ones have a bug with which a request can end the process.`,
  );
});
