import { type Contender, startContender, startUpstream } from './contenders.ts';
import type { LoadOptions } from './load.ts';
import type { Cell } from './table.ts';

const MB = 1_000_000;
const sizes = [1, 2, 4, 8];
const requests = 12;
const tiny = { tokens: 1, pauseMs: 0, tokenBytes: 32 };

export const sizeHeadings = [
  'MB',
  'request ms',
  'ms / MB',
  'longest pause ms',
  'answer ms',
  'ms / MB',
  'longest pause ms',
];

/** Large bodies, one after the other: time should be proportional to size, and other requests should not wait long. */
export async function runSizes(): Promise<Cell[][]> {
  const upstream = await startUpstream();
  const service = await startContender('service', upstream.port);
  try {
    await service.measure({ ...oneByOne({ historyBytes: MB / 4, knobs: tiny }), requests: 60 });
    const rows: Cell[][] = [];
    for (const size of sizes) {
      const request = await timed(service, oneByOne({ historyBytes: size * MB, knobs: tiny }));
      const answer = await timed(service, oneByOne({ knobs: { ...tiny, tokenBytes: size * MB } }));
      rows.push([String(size), ...[request, answer].flatMap(({ ms, pauseMs }) => [ms, ms / size, pauseMs])]);
    }
    return rows;
  } finally {
    await service.stop();
    await upstream.child.stop();
  }
}

async function timed(service: Contender, load: Load): Promise<{ ms: number; pauseMs: number }> {
  let ms = Number.NaN;
  const pauseMs = await service.longestPauseMs(async () => {
    const slice = await service.measure(load);
    if (slice.failures.length > 0) throw new Error(`A large body failed: ${slice.failures[0]}`);
    ms = slice.latencyMs.p50;
  });
  return { ms, pauseMs };
}

type Load = Omit<LoadOptions, 'port' | 'api'>;

function oneByOne(load: Pick<Load, 'knobs' | 'historyBytes'>): Load {
  return { stream: false, connections: 1, requests, ...load };
}
