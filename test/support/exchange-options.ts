import type { ExchangeOptions } from '../../src/exchange/exchange.ts';
import type { BodyModes, HeaderMap } from '../../src/exchange/types.ts';
import type { TranslationSettings } from '../../src/translate/settings.ts';
import type { Profile } from '../../src/upstream/profile.ts';
import { profileOf } from '../../src/upstream/profiles.ts';
import { CREATED_AT, createCountedIds } from './context.ts';

const MiB = 1024 * 1024;

/** What a client's request and an upstream's answer are in most cases. */
export const defaultModes: BodyModes = { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' };

/** The options of an exchange in a test: the service's defaults, counted ids, a clock that stands still, no timers. */
export function exchangeOptions(changes: Partial<ExchangeOptions> & { profile?: string } = {}): ExchangeOptions {
  const { profile = 'generic', ...rest } = changes;
  return {
    modes: defaultModes,
    settings: settingsOf(profile),
    bodyLimits: { maxRequestBytes: MiB, maxResponseBytes: MiB, maxErrorBytes: 64 * 1024, maxSseEventBytes: MiB },
    upstreamPath: null,
    refusal: null,
    reserve: () => null,
    stallTimeoutMs: 0,
    heartbeatMs: 0,
    finishGraceMs: 2000,
    sessionHeader: null,
    clock: { now: () => CREATED_AT, newId: createCountedIds() },
    ...rest,
  };
}

function settingsOf(name: string): TranslationSettings {
  return {
    profile: profileOf(name) as Profile,
    limits: {
      maxItems: 1000,
      maxTextBytes: MiB,
      maxImageUrlBytes: MiB,
      maxFileBytes: MiB,
      maxTools: 100,
      maxNesting: 64,
      maxValues: 100_000,
    },
    defaultModel: null,
    omittedStore: 'accept',
    reasoningEvents: 'summary',
    droppedTools: ['web_search'],
    unsupportedItems: 'drop',
    unknownItems: 'text',
    contextManagement: 'accept',
    orphanOutputs: 'reject',
    missingOutputs: 'reject',
    unknownFields: 'forward',
    strictEcho: false,
    compaction: { prompt: 'Sum up.', maxTokens: 8192, contextWindow: null, foreignItems: 'drop' },
    catalog: { instructions: 'Work.', contextWindow: null, overrides: new Map() },
  };
}

export function headersOf(headers: Readonly<Record<string, string>>): HeaderMap {
  return new Map(Object.entries(headers));
}
