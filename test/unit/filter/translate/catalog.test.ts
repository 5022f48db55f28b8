import { describe, expect, test } from 'vitest';
import { catalog } from '../../../../src/filter/translate/operations/catalog.ts';
import type { CatalogSettings } from '../../../../src/filter/translate/shared/settings.ts';
import type { Profile } from '../../../../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import { readProfilesFile } from '../../../../src/filter/upstream/profiles-file.ts';
import { defaultCatalogInstructions } from '../../../../src/service/settings/operator-texts.ts';

const settings: CatalogSettings = { instructions: 'Work.', contextWindow: null, overrides: new Map() };
const MiB = 1024 * 1024;

interface Entry {
  readonly slug: string;
  readonly context_window: number | null;
  readonly [field: string]: unknown;
}

function complete(list: unknown, profile: Profile | undefined, given = settings, maxBytes = MiB): object | null {
  return catalog.complete(list, { catalog: given, profile: profile as Profile }, maxBytes);
}

function modelsOf(
  list: unknown,
  changes: Partial<CatalogSettings> = {},
  profile = 'vllm',
  maxBytes = MiB,
): Entry[] | null {
  const made = complete(list, builtInProfiles.get(profile)?.profile, { ...settings, ...changes }, maxBytes);
  return made === null ? null : (made as { models: Entry[] }).models;
}

test('the server’s own list stays, and has an entry of the catalog for each model beside it', () => {
  const list = { object: 'list', data: [{ id: 'qwen3', object: 'model', max_model_len: 32768 }], more: 1 };
  expect(complete(list, builtInProfiles.get('vllm')?.profile)).toEqual({
    ...list,
    models: [
      {
        slug: 'qwen3',
        display_name: 'qwen3',
        description: null,
        supported_reasoning_levels: [],
        shell_type: 'shell_command',
        visibility: 'list',
        supported_in_api: true,
        priority: 0,
        upgrade: null,
        supports_reasoning_summaries: false,
        support_verbosity: false,
        default_verbosity: null,
        apply_patch_tool_type: 'freeform',
        truncation_policy: { mode: 'tokens', limit: 10_000 },
        supports_parallel_tool_calls: true,
        context_window: 32768,
        experimental_supported_tools: [],
        input_modalities: ['text', 'image'],
        base_instructions: 'Work.',
      },
    ],
  });
});

describe('reasoning levels', () => {
  const levels = (id: string, profile: string) => {
    const [entry] = modelsOf({ data: [{ id }] }, {}, profile) ?? [];
    const listed = entry?.['supported_reasoning_levels'] as readonly { effort: string }[];
    expect(entry?.['supports_reasoning_summaries']).toBe(listed.length > 0);
    return listed.map(({ effort }) => effort);
  };

  test.each([
    ['deepseek-flash', 'deepseek', ['none', 'low', 'high', 'max']],
    ['gemini-3.1-pro-preview', 'gemini', ['low', 'medium', 'high']],
    ['openai/gpt-oss-120b', 'groq', ['low', 'medium', 'high']],
    ['kimi-k3', 'moonshot', ['low', 'high', 'max']],
    ['glm-5.3', 'zai', ['low', 'high', 'max']],
    ['gpt-6-astra', 'openai', ['low', 'medium', 'high', 'xhigh', 'max']],
    ['command-a-reasoning', 'cohere', ['none', 'high']],
  ])('%s at %s are those that it is sent as they are', (id, profile, known) => {
    expect(levels(id, profile)).toEqual(known);
  });

  test.each([
    ['a model that nobody tabled', 'some-model', 'vllm'],
    ['a switch', 'kimi-k2.6', 'moonshot'],
    ['one level', 'qwen3-32b', 'groq'],
    ['an effort that tools fix', 'gpt-5.6-terra', 'openai'],
  ])('there are none for %s', (_, id, profile) => {
    expect(levels(id, profile)).toEqual([]);
  });
});

describe('images', () => {
  const modalities = (model: object, profile = 'vllm') =>
    modelsOf({ data: [{ id: 'm', ...model }] }, {}, profile)?.[0]?.['input_modalities'];
  const both = ['text', 'image'];

  test.each([
    ['OpenRouter', { architecture: { input_modalities: ['text', 'image', 'file'] } }, both],
    ['OpenRouter, of a model without eyes', { architecture: { input_modalities: ['text'] } }, ['text']],
    ['a server that has the list itself', { input_modalities: ['text'] }, ['text']],
    ['Mistral', { capabilities: { vision: false, completion_chat: true } }, ['text']],
    ['Mistral, of a model with eyes', { capabilities: { vision: true } }, both],
    ['Moonshot', { supports_image_in: false }, ['text']],
    ['Fireworks', { supports_image_input: false }, ['text']],
    ['LM Studio', { type: 'llm' }, ['text']],
    ['LM Studio, of a model with eyes', { type: 'vlm' }, both],
    ['vLLM, which does not say', { type: 'model' }, both],
    ['a server that writes nonsense', { architecture: 7, capabilities: ['vision'], supports_image_in: 'no' }, both],
  ])('of %s', (_server, model, expected) => {
    expect(modalities(model)).toEqual(expected);
  });

  test('are not offered where the profile leaves them out, for that model, whatever the list says', () => {
    const blind = readProfilesFile('profiles: { mine: { extends: vllm, models: { /coder/: { image: omit } } } }', 'f');
    const list = { data: ['coder', 'seer'].map((id) => ({ id, architecture: { input_modalities: both } })) };
    const made = complete(list, blind.get('mine')) as { models: Entry[] };
    expect(made.models.map(({ slug, input_modalities }) => [slug, input_modalities])).toEqual([
      ['coder', ['text']],
      ['seer', both],
    ]);
  });
});

describe('the context window', () => {
  test.each([
    ['vLLM', { max_model_len: 1000 }, 1000],
    ['llama.cpp', { meta: { n_ctx_train: 2000 } }, 2000],
    ['llama.cpp, as it runs', { meta: { n_ctx_train: 2000, n_ctx: 1500 } }, 1500],
    ['LM Studio', { max_context_length: 3000 }, 3000],
    ['LM Studio, as it is loaded', { max_context_length: 3000, loaded_context_length: 2500 }, 2500],
    ['OpenRouter', { context_length: 4000 }, 4000],
    ['Groq', { context_window: 5000 }, 5000],
    ['Ollama, which does not say', {}, null],
    [
      'a server that writes nonsense',
      { max_model_len: '1000', context_length: -1, context_window: 1.5, meta: 7 },
      null,
    ],
  ])('of %s', (_server, model, window) => {
    expect(modelsOf({ data: [{ id: 'm', ...model }] })?.[0]?.context_window).toBe(window);
  });

  test('is MODEL_CONTEXT_WINDOW where the server does not say', () => {
    const list = { data: [{ id: 'a' }, { id: 'b', max_model_len: 10 }] };
    expect(modelsOf(list, { contextWindow: 7 })?.map(({ context_window }) => context_window)).toEqual([7, 10]);
  });

  test('and every other field is what the operator’s file says, for one model before all', () => {
    const overrides = new Map([
      ['*', { context_window: 1, support_verbosity: true }],
      ['b', { context_window: 2, base_instructions: 'Rest.' }],
    ]);
    const [a, b] = modelsOf({ data: [{ id: 'a', max_model_len: 9 }, { id: 'b' }] }, { overrides }) ?? [];
    expect(a).toMatchObject({ slug: 'a', context_window: 1, support_verbosity: true, base_instructions: 'Work.' });
    expect(b).toMatchObject({ slug: 'b', context_window: 2, support_verbosity: true, base_instructions: 'Rest.' });
  });
});

test('a list of another kind under `models` is replaced, a catalog is left alone', () => {
  const data = [{ id: 'm' }];
  expect(modelsOf({ data, models: [{ name: 'm', details: {} }] })).toMatchObject([{ slug: 'm' }]);
  expect(modelsOf({ data, models: [{ slug: 'm' }] })).toBeNull();
});

test.each([[null], ['x'], [[]], [{}], [{ data: {} }], [{ models: [] }]])('%j is not a list', (value) => {
  expect(modelsOf(value)).toBeNull();
});

test('what has no id is not a model', () => {
  expect(modelsOf({ data: [null, 'x', {}, { id: '' }, { id: 7 }, { id: 'm' }] })).toMatchObject([{ slug: 'm' }]);
});

test('entries beyond the limit are left out, since each repeats the instructions', () => {
  const data = Array.from({ length: 100 }, (_, index) => ({ id: `m${index}` }));
  expect(modelsOf({ data }, { instructions: 'x'.repeat(10_000) }, 'vllm', 50_000)).toHaveLength(4);
});

test('the default instructions say what an agent of any model needs', () => {
  for (const word of ['apply_patch', 'AGENTS.md', 'Verify']) expect(defaultCatalogInstructions).toContain(word);
});
