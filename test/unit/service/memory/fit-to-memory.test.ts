import { describe, expect, it } from 'vitest';
import { fitToMemory } from '../../../../src/service/memory/fit-to-memory.ts';
import { readConfig } from '../../../../src/service/settings/config.ts';

const MiB = 1024 * 1024;

describe('the configuration that fits the memory', () => {
  it('lowers the sizes that this much memory could not honour, and says so', () => {
    const { config, lowered } = fitToMemory(readConfig({}), { heap: 272 * MiB, total: 1024 * MiB });
    expect(config).toMatchObject({
      MAX_REQUEST_BYTES: 8 * MiB,
      MAX_RESPONSE_BYTES: 8 * MiB,
      MAX_SSE_EVENT_BYTES: 8 * MiB,
      MAX_BUFFERED_BYTES: 256 * MiB,
    });
    expect(lowered.map((line) => line.split(' ', 1)[0])).toEqual([
      'MAX_REQUEST_BYTES',
      'MAX_RESPONSE_BYTES',
      'MAX_BUFFERED_BYTES',
    ]);
  });

  it('leaves the defaults alone with 2 GiB of heap and 8 GiB of memory', () => {
    expect(fitToMemory(readConfig({}), { heap: 2048 * MiB, total: 8192 * MiB }).lowered).toEqual([]);
  });

  it('bounds the bytes that wait even where no limit was asked for', () => {
    const { config } = fitToMemory(readConfig({ MAX_BUFFERED_BYTES: '0' }), { heap: 2048 * MiB, total: 4096 * MiB });
    expect(config.MAX_BUFFERED_BYTES).toBe(1024 * MiB);
  });
});
