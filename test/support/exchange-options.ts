import type { Exchange } from '../../src/filter/exchange/exchange.ts';
import type { ExchangeOptions } from '../../src/filter/exchange/options.ts';
import type { BodyModes, ExchangeEvent, ExchangeReply, HeaderMap } from '../../src/filter/exchange/types.ts';
import { createCountedIds, createdAt } from './context.ts';
import { createTestSettings, defaultExchangeSettings } from './settings.ts';

const MiB = 1024 * 1024;

/** The usual body modes of a client's request and an upstream's answer. */
export const defaultModes: BodyModes = defaultExchangeSettings.modes;

/** The options of an exchange in a test: the service's defaults, counted ids, a fixed clock, no timers. */
export function exchangeOptions(changes: Partial<ExchangeOptions> & { profile?: string } = {}): ExchangeOptions {
  const { profile = 'generic', ...rest } = changes;
  return {
    ...defaultExchangeSettings,
    stallTimeoutMs: 0,
    settings: createTestSettings({ profile }),
    bodyLimits: { maxRequestBytes: MiB, maxResponseBytes: MiB, maxErrorBytes: 64 * 1024, maxSseEventBytes: MiB },
    refusal: null,
    hold: () => null,
    clock: { now: () => createdAt, newId: createCountedIds() },
    ...rest,
  };
}

/** All replies to one message, as Envoy gets them. */
export function repliesOf(exchange: Exchange, event: ExchangeEvent): ExchangeReply[] {
  return [...exchange.handle(event)];
}

export function headersOf(headers: Readonly<Record<string, string>>): HeaderMap {
  return new Map(Object.entries(headers));
}
