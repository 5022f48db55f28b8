import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { Exchange } from '../../src/filter/exchange/exchange.ts';
import { knownTypes } from '../../src/filter/translate/known-types.ts';
import { createResponseFields } from '../../src/filter/wire/schema/create-response.ts';
import { exchangeOptions, headersOf } from '../support/exchange-options.ts';
import { growthOf, maxLinearGrowth } from '../support/growth.ts';
import { createTestSettings } from '../support/settings.ts';

const MiB = 1024 * 1024;

/** What a rule, a pattern or a scan may begin with again and again, and never finds the end of. */
const beginnings = ['grok-4', ' ', '\n', '{"', '<th', 'data:;', '}_', '\ud83d'];

/** Names that strings of items, parts and tools have. */
const names = `text content output arguments input call_id name namespace id role refusal image_url file_data file_url
  filename audio_url video_url encrypted_content summary commands action operation description parameters schema status
  definition syntax server_label execution phase detail`.split(/\s+/);

/** Where a client may write as much as it likes: text of that length, `filler` again and again. */
const places: Readonly<Record<string, (text: string) => object>> = {
  ...Object.fromEntries(Object.keys(createResponseFields).map((name) => [name, (text: string) => ({ [name]: text })])),
  'a field that nobody knows': (text) => ({ unheard_of: text }),
  'the name of a field': (text) => ({ [text]: 1 }),
  ...Object.fromEntries(
    [...knownTypes.items.keys()].map((type) => [
      `an item of type ${type}`,
      (text: string) => ({ input: [{ type, ...filled(text, type) }] }),
    ]),
  ),
  ...Object.fromEntries(
    ['input_text', 'input_image', 'input_file', 'input_audio', 'input_video', 'refusal'].map((type) => [
      `a part of type ${type}`,
      (text: string) => ({ input: [{ role: 'user', content: [{ type, ...filled(text, type) }] }] }),
    ]),
  ),
  ...Object.fromEntries(
    ['function', 'custom', 'namespace', 'mcp', 'tool_search', 'web_search', 'shell'].map((type) => [
      `a tool of type ${type}`,
      (text: string) => ({ tools: [{ type, ...filled(text, type) }] }),
    ]),
  ),
  'the type of an item': (text) => ({ input: [{ type: text }] }),
  'a short item, many times': (text) => ({ input: text.split('').map(() => ({ role: 'user', content: 'x' })) }),
  'a call, many times': (text) => ({
    input: text
      .split('')
      .map((_, index) => ({ type: 'function_call', call_id: `c${index}`, name: 'f', arguments: '{}' })),
  }),
  'a tool, many times': (text) => ({
    tools: text.split('').map((_, index) => ({ type: 'function', name: `f${index}` })),
  }),
  'the text of a format': (text) => ({
    text: { format: { type: 'json_schema', name: 'f', schema: { description: text }, description: text } },
  }),
  'a tool of a choice': (text) => ({ tool_choice: { type: 'function', name: text } }),
};

/** Every string that such an object may have; `role` as it must be, so that the others are read. */
function filled(text: string, type: string): object {
  return {
    ...Object.fromEntries(names.map((name) => [name, text])),
    ...(type === 'message' && { role: 'user' }),
  };
}

/** With rules for models by their names, and with fields that nobody knows passed on. */
const settings = createTestSettings({ profile: 'xai', unknownFields: 'forward', limits: { maxNesting: 1000 } });

/** Runs a request through an exchange, as Envoy would. */
function runRequest(bytes: Buffer, headers: Readonly<Record<string, string>> = {}): void {
  const limits = { maxRequestBytes: 64 * MiB, maxResponseBytes: MiB, maxErrorBytes: MiB, maxSseEventBytes: MiB };
  const exchange = new Exchange(exchangeOptions({ settings, bodyLimits: limits }));
  const json = { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' };
  exchange.handle({ type: 'request_headers', headers: headersOf({ ...json, ...headers }), endOfStream: false });
  exchange.handle({ type: 'request_body', body: bytes, endOfStream: true });
}

it.each(Object.entries(places))('%s costs time in proportion to its length, whatever is in it', (place, bodyOf) => {
  const many = place.includes('many times');
  for (const beginning of many ? ['x'] : beginnings) {
    const growth = growthOf(many ? 200 : 1024, (size) => {
      const text = beginning.repeat(Math.ceil(size / beginning.length));
      const bytes = Buffer.from(JSON.stringify({ model: 'm', input: 'x', ...bodyOf(text) }));
      return () => runRequest(bytes);
    });
    expect(growth, `${JSON.stringify(beginning)} again and again`).toBeLessThan(maxLinearGrowth);
  }
});

it('a compressed tool’s schema costs no more where it is nested deep', () => {
  const properties = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`property_${index}`, {}]));
  const prepare = (depth: number) => {
    let parameters: object = { type: 'object', properties };
    for (let level = 0; level < depth; level += 1) parameters = { nested: parameters };
    const tools = [{ type: 'function', name: 'f', parameters }];
    const bytes = gzipSync(JSON.stringify({ model: 'm', input: 'x', tools }));
    return () => runRequest(bytes, { 'content-encoding': 'gzip' });
  };
  expect(growthOf(28, prepare, 3)).toBeLessThan(3);
});
