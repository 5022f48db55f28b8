import type { ExchangeSummary } from '../exchange/summary.ts';
import { shownErrorCode } from './error-codes.ts';
import type { CallEnd } from './observer.ts';

/** What traces and metrics share of OpenTelemetry's conventions for generative AI. */

/** `error.type` of an exchange; null if it went well. */
export function errorTypeOf(summary: ExchangeSummary, how: CallEnd): string | null {
  const { outcome, status } = summary;
  if (how !== 'done') return how;
  if (outcome === 'completed' || outcome === 'incomplete') return null;
  return shownErrorCode(summary) ?? (status === null ? outcome : String(status));
}

/** `gen_ai.provider.name` of a profile. */
export function providerName(profile: string): string {
  return providers[profile] ?? profile;
}

/** Profiles that OpenTelemetry's conventions know by another name. */
const providers: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  xai: 'x_ai',
};
