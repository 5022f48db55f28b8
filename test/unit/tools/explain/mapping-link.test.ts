import { expect, it } from 'vitest';
import { buildRule, rowOfError, rowOfPath, rowOfValue } from '../../../../src/tools/explain/mapping-link.ts';

it.each([
  ['model', 'model'],
  ['text', 'text'],
  ['text.format', 'text-format'],
  ['text.format.type', 'text-format'],
  ['text.odd', 'unknown-keys-of-text'],
  ['text.odd.more', 'unknown-keys-of-text'],
  ['reasoning.effort', 'reasoning-effort'],
  ['reasoning.effort.max', 'reasoning-effort'],
  ['reasoning.odd', 'unknown-keys-of-text'],
  ['include[3]', 'include'],
  ['include[3].odd', 'include'],
  ['metadata.key', 'metadata'],
  ['stream_options.include_obfuscation', 'stream_options'],
  ['odd', 'unknown-fields'],
  ['odd.more', 'unknown-fields'],
  ['input', 'input'],
  ['input[0]', 'input'],
  ['input[].phase', 'input-phase'],
  ['input[7].phase', 'input-phase'],
  ['input[7].odd', 'unknown-keys-of-items'],
  ['input[7].reasoning', 'item-reasoning'],
  ['input[7].web_search_call', 'hosted-items'],
  ['input[7].some_output', 'hosted-items'],
  ['input[7].some_call_output', 'hosted-items'],
  ['input[7].mcp_list_tools', 'hosted-items'],
  ['input[7].some_response', 'hosted-items'],
  ['input[7].some_request', 'hosted-items'],
  ['input[7].content[0].some_call', 'unknown-keys-of-items'],
  ['input[7].content', 'input-content'],
  ['input[7].content[1].input_audio', 'part-input_audio'],
  ['input[7].content[1].detail', 'input-content-detail'],
  ['input[7].content[1].odd', 'unknown-keys-of-items'],
  ['tools', 'tools'],
  ['tools[2].strict', 'tools-strict'],
  ['tools[2].odd', 'tools-type'],
  ['tools[2].web_search', 'tools-type'],
  ['tools[2].local_shell', 'tool-shell'],
  ['tools[2].parameters', 'tools-parameters'],
])('what is said of %s stands in the row %s', (path, row) => {
  expect(rowOfPath(path).anchor).toBe(`row-${row}`);
});

it.each<[path: string, value: unknown, row: string]>([
  ['model', 'm', 'model'],
  ['input', [], 'input'],
  ['input[0]', { role: 'user' }, 'input-content'],
  ['input[0]', { type: 'message' }, 'input-content'],
  ['input[0]', { type: 'function_call' }, 'item-function_call'],
  ['input[0]', { type: 'odd' }, 'unknown-keys-of-items'],
  ['input[0]', { type: 'odd_call' }, 'hosted-items'],
  ['input[0].content[0]', { type: 'input_audio' }, 'part-input_audio'],
  ['input[0].content[0]', { type: 'odd' }, 'input-content'],
  ['input[0].content[0]', 7, 'input-content'],
  ['input[0].content[0].text', { type: 7 }, 'input-content-text'],
  ['tools[0]', { type: 'function' }, 'tools-type'],
  ['tools[0]', { type: 'local_shell' }, 'tool-shell'],
  ['tools[0]', { type: 7 }, 'tools-type'],
  ['tools[0]', {}, 'tools-type'],
  ['tools[0].name', { type: 'local_shell' }, 'tools-name'],
])('what is said of %s with the value %j stands in the row %s', (path, value, row) => {
  expect(rowOfValue(path, value).anchor).toBe(`row-${row}`);
});

it.each<[param: string | null, code: string, row: string]>([
  ['input[0]', 'x', 'item-function_call'],
  ['input[1]', 'x', 'input-content'],
  ['model', 'x', 'model'],
  [null, 'model_not_found', 'code-invalid_value'],
  [null, 'request_too_large', 'code-invalid_json'],
  ['', 'request_too_large', 'code-invalid_json'],
  ['a[', 'request_too_large', 'code-invalid_json'],
])('what is said of the error at %s with the code %s stands in the row %s', (param, code, row) => {
  const body = { input: [{ type: 'function_call' }, { role: 'user' }] };
  expect(rowOfError({ param, code }, body).anchor).toBe(`row-${row}`);
});

it('a row is linked at the repository, or in it', () => {
  const { rule } = rowOfPath('model');
  expect(buildRule(rowOfPath('model'), '')).toEqual({ rule, link: 'docs/mapping.md#row-model' });
  expect(buildRule(rowOfPath('model'), 'https://x.test/')).toEqual({
    rule,
    link: 'https://x.test/docs/mapping.md#row-model',
  });
});
