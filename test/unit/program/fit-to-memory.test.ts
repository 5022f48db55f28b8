import { describe, expect, it } from 'vitest';
import { fitToMemory } from '../../../src/program/process-memory.ts';
import { readConfig } from '../../../src/service/settings/config.ts';

const MiB = 1024 * 1024;

describe('the configuration that fits the memory', () => {
  it('lowers the sizes that this much memory could not honour, and says so', () => {
    const { config, lowered } = fitToMemory(readConfig({}), { heap: 272 * MiB, total: 1024 * MiB });
    expect(config).toMatchObject({
      MAX_REQUEST_BYTES: 8 * MiB,
      MAX_RESPONSE_BYTES: 8 * MiB,
      MAX_BUFFERED_BYTES: 256 * MiB,
    });
    const ofHeap = 'a 30th of the heap (285212672 bytes); NODE_OPTIONS=--max-old-space-size=… raises it';
    expect(lowered).toEqual([
      `MAX_REQUEST_BYTES is 8388608, ${ofHeap}`,
      `MAX_RESPONSE_BYTES is 8388608, ${ofHeap}`,
      'MAX_BUFFERED_BYTES is 268435456, a quarter of the memory (1073741824 bytes)',
    ]);
  });

  it('changes nothing else, and no size that fits exactly', () => {
    const given = readConfig({
      MAX_REQUEST_BYTES: String(8 * MiB),
      MAX_RESPONSE_BYTES: '1024',
      MAX_BUFFERED_BYTES: '1',
    });
    const { config, lowered } = fitToMemory(given, { heap: 272 * MiB, total: 1024 * MiB });
    expect([config, lowered]).toEqual([given, []]);
  });

  it('leaves a body a MiB in the smallest heap', () => {
    const { config } = fitToMemory(readConfig({}), { heap: 40 * MiB, total: 1024 * MiB });
    expect(config.MAX_REQUEST_BYTES).toBe(MiB);
  });

  it('leaves the defaults alone with 2 GiB of heap and 8 GiB of memory', () => {
    expect(fitToMemory(readConfig({}), { heap: 2048 * MiB, total: 8192 * MiB }).lowered).toEqual([]);
  });

  it('bounds the bytes that wait even where no limit was asked for', () => {
    const { config } = fitToMemory(readConfig({ MAX_BUFFERED_BYTES: '0' }), { heap: 2048 * MiB, total: 4096 * MiB });
    expect(config.MAX_BUFFERED_BYTES).toBe(1024 * MiB);
  });
});
