import { expect, it } from 'vitest';
import { createPlainStyle, type Style } from '../../../../src/tools/cli/terminal.ts';
import { explainRequest } from '../../../../src/tools/explain/explain-request.ts';
import { printRequest } from '../../../../src/tools/explain/print-request.ts';
import { readRequest } from '../../../../src/tools/explain/read-input.ts';
import { explainSetupOf } from '../../../support/config-of-settings.ts';
import { createdAt } from '../../../support/context.ts';

const style = createPlainStyle(120);

function printed(file: unknown, path = '/v1/responses', shown: Style = style): string {
  const { request } = readRequest(Buffer.from(typeof file === 'string' ? file : JSON.stringify(file)), path);
  const explanation = explainRequest({
    setup: explainSetupOf({}),
    request,
    now: createdAt,
    fields: null,
    linkBase: '',
  });
  return printRequest(explanation, shown, false);
}

it('what Envoy wrote into the headers is not called the client’s own', () => {
  const headers = {
    'content-type': 'application/json',
    'x-request-id': 'r',
    'x-forwarded-proto': 'http',
    'x-team': 'a',
  };
  const text = printed({ method: 'POST', path: '/v1/responses', headers, body: { model: 'm', input: 'Hi' } });
  expect(text).toContain('x-request-id: r  (Envoy’s own)');
  expect(text).toContain('x-forwarded-proto: http  (Envoy’s own)');
  expect(text).toContain('x-team: a  (the client’s own)');
});

it('a request for the catalog needs no body, and its answer is told by the variables that make it', () => {
  const text = printed('', '/v1/models?client_version=0.1');
  expect(text).toMatch(/^GET \/v1\/models\?client_version=0\.1 → GET \/v1\/models/);
  expect(text).toMatch(/The answer\n {2}MODEL_CONTEXT_WINDOW is 0: /);
  expect(text).toContain('MODEL_CATALOG_FILE is not set: ');
  expect(text).not.toContain('Chat request');
});

it('a request that is answered at once says so, and why', () => {
  const text = printed({ model: 'm', input: 'Hi', prompt_cache_options: { prewarm: true } });
  expect(text).toMatch(
    /^POST \/v1\/responses {2}profile generic, model m\n\nAnswered with an empty Response; the upstream/,
  );
  expect(text).toContain('The profile’s flag prefixCache is false.');
  expect(text).toMatch(/Dropped, and listed in x-responses-dropped\n {2}prompt_cache_options\.prewarm\n$/);
});

it('three items or tools in a row that were only sent are one line, two are not', () => {
  const items = (count: number) => Array.from({ length: count }, (_, index) => ({ role: 'user', content: `${index}` }));
  const tools = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      type: 'function',
      name: `f${index}`,
      parameters: { type: 'object' },
    }));
  const three = printed({ model: 'm', input: items(3), tools: tools(3) });
  expect(three).toMatch(/^ {2}input\[0\]…\[2\] +sent +messages\[0\]…\[2\]$/m);
  expect(three).toMatch(/^ {2}tools\[0\]…\[2\] +sent +tools\[0\]…\[2\]$/m);
  const two = printed({ model: 'm', input: items(2), tools: tools(2) });
  for (const name of ['input[0]', 'input[1]', 'tools[0]', 'tools[1]']) expect(two).toContain(`\n  ${name}  sent`);
});

it('the column of names is as wide as the longest, and at most 36', () => {
  expect(printed({ model: 'm', input: 'Hi' })).toContain('\n  model  sent');
  const text = printed({ model: 'm', input: 'Hi', [`x${'y'.repeat(40)}`]: 1 });
  expect(text).toContain(`\n  x${'y'.repeat(34)}…  sent`);
  expect(text).toContain(`\n  ${'model'.padEnd(36)}  sent`);
});

it('a field that became several places shares the width among them', () => {
  const output = [
    { type: 'input_text', text: 'a'.repeat(100) },
    { type: 'input_image', image_url: `https://x.test/${'b'.repeat(100)}` },
  ];
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
  const text = printed({ model: 'm', input: [call, { type: 'function_call_output', call_id: 'c', output }] });
  const [, places = ''] = /^ {2}input\[1\] {2}rewritten +(.*)$/m.exec(text) ?? [];
  expect(places).toMatch(/^messages\[1\]: \{"role":"tool",.*…, messages\[2\]\.content\[1\]: \{"type":"image_url",.*…$/);
});

it('in a terminal each kind of line has its colour', () => {
  const marked: Style = { width: 120, paint: (colour, text) => `<${colour}: ${text}>` };
  const coloured = (file: object) => [
    ...new Set(printed(file, '/v1/responses', marked).match(/<(?:bold|dim|red|magenta|cyan|green|yellow): [^<>]*>/g)),
  ];
  const headers = { 'content-type': 'application/json', 'x-request-id': 'r', 'accept-encoding': 'gzip' };
  const body = { model: 'm', input: 'Hi', stream: true, truncation: 'auto', service_tier: 'flex', future: 1 };
  expect(coloured({ method: 'POST', path: '/v1/responses', headers, body })).toMatchInlineSnapshot(`
    [
      "<bold: POST /v1/responses>",
      "<bold: POST /v1/chat/completions>",
      "<dim: profile generic, model m>",
      "<bold: Headers of the Chat request>",
      "<dim: x-request-id: r  (Envoy’s own)>",
      "<bold: Body of the Chat request>",
      "<bold: What became of each field>",
      "<green: sent       >",
      "<cyan: renamed    >",
      "<dim: docs/mapping.md#row-input>",
      "<red: dropped    >",
      "<dim: docs/mapping.md#row-truncation>",
      "<dim: docs/mapping.md#row-service_tier>",
      "<bold: Dropped, and listed in x-responses-dropped>",
      "<red: service_tier>",
      "<red: truncation>",
    ]
  `);
  expect(coloured({ model: 'm', input: 'Hi', background: true, conversation: 'c' })).toMatchInlineSnapshot(`
    [
      "<bold: POST /v1/responses>",
      "<dim: profile generic, model m>",
      "<red: Refused: HTTP 400 unsupported_value, background>",
      "<dim: docs/mapping.md#row-background>",
      "<red: And then: unsupported_parameter, conversation>",
      "<dim: docs/mapping.md#row-conversation>",
    ]
  `);
});
