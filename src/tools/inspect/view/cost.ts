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
  return [...text.matchAll(/([^,]+)=([^,]+)/g)].map(([, model = '', amounts = '']) => {
    const [input = 0, second = 0, third] = amounts.split('/').map(Number);
    // Without their own price, cached tokens cost the same as others.
    const [cached, output] = third === undefined ? [input, second] : [second, third];
    return { model: model.trim(), input, cached, output };
  });
}

/** What the tokens of an exchange cost; null if its model has no price, or its tokens are unknown. */
export function costOf({ model, tokens }: ExchangeRow, prices: readonly Price[]): number | null {
  const price = prices.find(({ model: name }) =>
    name.endsWith('*') ? model?.startsWith(name.slice(0, -1)) : name === model,
  );
  if (price === undefined || tokens === null) return null;
  const cached = Math.min(tokens.cached_tokens, tokens.input_tokens);
  const input = (tokens.input_tokens - cached) * price.input + cached * price.cached;
  return (input + tokens.output_tokens * price.output) / 1_000_000;
}
