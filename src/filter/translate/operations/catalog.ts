import { objectOf, textOf } from '../../../formats/json/loose.ts';
import { type Profile, profileForModel } from '../../upstream/profile.ts';
import type { Loose } from '../../wire/schema/chat-completion.ts';
import { leveled } from '../request-to-chat/effort-to-chat.ts';
import type { CatalogSettings } from '../shared/settings.ts';
import type { PassedOperation } from './operation.ts';

/** One model in the list of a server: vLLM, llama.cpp, LM Studio, routers. */
type LooseModel = Loose<
  | ('id' | 'type' | 'meta')
  | ('max_model_len' | 'loaded_context_length' | 'max_context_length' | 'context_length' | 'context_window')
  | ('architecture' | 'input_modalities' | 'capabilities' | 'supports_image_in' | 'supports_image_input')
>;

/**
 * `GET /v1/models?client_version=…`: a server's list of models with the catalog that Codex asks for, which alone names its
 * version: `models` beside the server's own `data`. Null if the answer is not a list, or is a catalog already. Entries beyond `maxBytes` are
 * left out, since each repeats the instructions.
 */
export const catalog: PassedOperation = {
  type: 'passed',
  method: 'GET',
  path: ['v1', 'models'],
  parameter: 'client_version',
  complete(value, { catalog: settings, profile }, maxBytes) {
    const list = objectOf<Loose<'data' | 'models'>>(value);
    if (list === null || !Array.isArray(list.data) || isCatalog(list.models)) return null;
    const models: object[] = [];
    let bytes = 0;
    for (const listed of list.data) {
      const model = objectOf<LooseModel>(listed);
      const slug = textOf(model?.id);
      if (model === null || slug === '') continue;
      const entry = buildEntry(slug, model, models.length, settings, profileForModel(profile, slug));
      bytes += JSON.stringify(entry).length;
      if (bytes > maxBytes) break;
      models.push(entry);
    }
    return { ...list, models };
  },
};

/** llama.cpp and Ollama have a list of their own under `models`. Codex's entries have a `slug`. */
function isCatalog(models: unknown): boolean {
  return Array.isArray(models) && models.some((model) => objectOf<Loose<'slug'>>(model)?.slug !== undefined);
}

function buildEntry(
  slug: string,
  model: LooseModel,
  priority: number,
  { instructions, contextWindow, overrides }: CatalogSettings,
  profile: Profile,
): object {
  const levels = listEfforts(slug, profile);
  const listed = readListedModel(model);
  // These are the fields of a model that Codex 0.171 decodes.
  const entry = {
    slug,
    display_name: slug,
    description: null,
    supported_reasoning_levels: levels,
    shell_type: 'shell_command',
    visibility: 'list',
    supported_in_api: true,
    priority,
    upgrade: null,
    // Codex sends an effort only where there are summaries.
    supports_reasoning_summaries: levels.length > 0,
    support_verbosity: profile.verbosity,
    default_verbosity: null,
    apply_patch_tool_type: 'freeform',
    truncation_policy: { mode: 'tokens', limit: 10_000 },
    supports_parallel_tool_calls: profile.parallelToolCalls,
    context_window: listed.contextWindow ?? contextWindow,
    experimental_supported_tools: [],
    input_modalities: listed.takesImages !== false && profile.image === true ? ['text', 'image'] : ['text'],
    base_instructions: instructions,
  };
  return { ...entry, ...overrides.get('*'), ...overrides.get(slug) };
}

/** Efforts from the least to the most, as Codex knows them, with their descriptions for its user. */
const efforts: Readonly<Record<string, string>> = {
  none: 'No reasoning',
  minimal: 'Very little reasoning',
  low: 'Little reasoning, fast answers',
  medium: 'Some reasoning',
  high: 'Much reasoning, for hard problems',
  xhigh: 'Very much reasoning',
  max: 'As much reasoning as the model can do',
};

/** The efforts that reach the model as they are. None where no rule knows the model, the server has no levels, or tools fix the effort. */
function listEfforts(slug: string, { reasoningEffort, effortRules, effortWithTools }: Profile): object[] {
  const rule = effortRules.find(({ models }) => models.test(slug));
  if (rule === undefined || !leveled.has(reasoningEffort) || effortWithTools?.when === 'offered') return [];
  const levels = Object.entries(efforts).filter(([effort]) => (rule.efforts[effort] ?? effort) === effort);
  return levels.length > 1 ? levels.map(([effort, description]) => ({ effort, description })) : [];
}

/** Facts in an entry of a server's list of models; null for what the entry does not say. */
export interface ListedModel {
  readonly contextWindow: number | null;
  readonly takesImages: boolean | null;
}

export function readListedModel(model: object): ListedModel {
  return { contextWindow: readContextWindow(model), takesImages: readTakesImages(model) };
}

/** The configured window comes before the trained one. */
function readContextWindow(model: LooseModel): number | null {
  const meta = objectOf<Loose<'n_ctx' | 'n_ctx_train'>>(model.meta);
  const candidates = [
    model.max_model_len, // vLLM, SGLang
    meta?.n_ctx, // llama.cpp
    meta?.n_ctx_train,
    model.loaded_context_length, // LM Studio
    model.max_context_length, // LM Studio, Mistral
    model.context_length, // OpenRouter, Together, Fireworks
    model.context_window, // Groq
  ];
  return candidates.find((value): value is number => Number.isInteger(value) && (value as number) > 0) ?? null;
}

type LooseModalities = Loose<'input_modalities' | 'vision'>;

function readTakesImages(model: LooseModel): boolean | null {
  const architecture = objectOf<LooseModalities>(model.architecture);
  for (const inputs of [architecture?.input_modalities, model.input_modalities]) // OpenRouter, and others in its form
    if (Array.isArray(inputs)) return inputs.includes('image');
  const candidates = [
    objectOf<LooseModalities>(model.capabilities)?.vision, // Mistral
    model.supports_image_in, // Moonshot
    model.supports_image_input, // Fireworks
  ];
  for (const value of candidates) if (typeof value === 'boolean') return value;
  if (model.type === 'vlm' || model.type === 'llm') return model.type === 'vlm'; // LM Studio
  return null;
}
