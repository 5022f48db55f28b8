import OpenAI from 'openai';

/** What the OpenAI SDK makes of a stream: the response it accumulated, or the message of what it threw. */
export type SdkReading =
  | { readonly type: 'response'; readonly response: Record<string, unknown> }
  | { readonly type: 'thrown'; readonly message: string };

/** Reads a stream with `client.responses.stream`, which checks every event as it accumulates it. */
export async function readWithSdk(stream: Uint8Array): Promise<SdkReading> {
  const client = new OpenAI({
    apiKey: 'none',
    baseURL: 'http://upstream.test/v1',
    maxRetries: 0,
    fetch: async () => new Response(Uint8Array.from(stream), { headers: { 'content-type': 'text/event-stream' } }),
  });
  try {
    const response = await client.responses.stream({ model: 'test-model', input: 'Hi' }).finalResponse();
    return { type: 'response', response: withoutAdditions(response) as Record<string, unknown> };
  } catch (thrown) {
    return { type: 'thrown', message: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** The SDK's own conveniences, added to what it read. */
const additions = new Set(['output_text', 'output_parsed', 'parsed', 'parsed_arguments']);

function withoutAdditions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAdditions);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !additions.has(key));
  return Object.fromEntries(kept.map(([key, field]) => [key, withoutAdditions(field)]));
}
