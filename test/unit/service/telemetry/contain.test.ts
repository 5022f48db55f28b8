import { expect, test } from 'vitest';
import { contain } from '../../../../src/service/telemetry/observer.ts';

const defect = new Error('a defect');
const throws = () => {
  throw defect;
};

test('what an observer throws is told, each time, and nobody else meets it', () => {
  const told: unknown[] = [];
  const seen: unknown[] = [];
  const observer = contain({ began: throws, ended: (...given: unknown[]) => seen.push(given) }, (thrown) =>
    told.push(thrown),
  );
  observer.began();
  observer.began();
  observer.ended(1, 2);
  expect({ told, seen }).toEqual({ told: [defect, defect], seen: [[1, 2]] });
});

test('whoever is told may throw as well', () => {
  const told: unknown[] = [];
  const observer = contain({ began: throws }, (thrown) => {
    told.push(thrown);
    throw thrown;
  });
  observer.began();
  expect(told).toEqual([defect]);
});
