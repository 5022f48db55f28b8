import type { ExchangeRow } from '../exchange-json.ts';

/** What a million tokens of a model cost. */
export interface Price {
  /** A name, or the beginning of names before a `*`. */
  readonly model: string;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** The prices of `INSPECT_PRICES`, whose format the service has checked. */
export function pricesIn(text: string): readonly Price[] {
  return text
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const at = part.lastIndexOf('=');
      const amounts = part
        .slice(at + 1)
        .split('/')
        .map(Number);
      const [input = 0, cached = 0, output = cached] = amounts;
      // Without their own price, cached tokens cost the same as others.
      return { model: part.slice(0, at).trim(), input, cached: amounts.length === 2 ? input : cached, output };
    });
}

/** What the tokens of an exchange cost; null if its model has no price, or its tokens are unknown. */
export function costOf(row: ExchangeRow, prices: readonly Price[]): number | null {
  const { model, input_tokens: input, output_tokens: output } = row;
  const price = prices.find(({ model: name }) =>
    name.endsWith('*') ? model?.startsWith(name.slice(0, -1)) : name === model,
  );
  if (price === undefined || input === null || output === null) return null;
  const cached = Math.min(row.cached_tokens ?? 0, input);
  return ((input - cached) * price.input + cached * price.cached + output * price.output) / 1_000_000;
}
