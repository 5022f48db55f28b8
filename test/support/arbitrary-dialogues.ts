import fc from 'fast-check';
import { builtInProfiles } from '../../src/filter/upstream/profiles.ts';
import { codePoint } from './code-point.ts';
import type { AnswerPlan, Habits, PartPlan, StreamForm } from './scripted-answers.ts';
import { type Item, type ToolKind, type ToolKindName, toolKindNames, toolKinds } from './tool-kinds.ts';

/** Requests and answers at random, with all that each may have at once. `#` stands for a mark. */

export const templates = fc.oneof(
  { weight: 3, arbitrary: fc.constant('#.') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('\n\n# ', ' #', 'ü#😀\n', '"#\\', '{"a":"#"}', '<b>#</b>', '#\u2028', 'call:#{}'),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: codePoint, maxLength: 6 }).map((text) => `${text.replaceAll(/[#<]/g, '')}#`),
  },
);

/** Rules of profiles go by names. */
const models = fc.constantFrom(
  ...[
    'test-model',
    'mistral-small',
    'gemma-3-27b',
    'qwen3.5-32b',
    'llama-3.3-70b',
    'gpt-oss-120b',
    'kimi-k2',
    'claude-4',
  ],
);

/** A server: a profile, with flags that an operator may set, the model that is asked, and where clients get its reasoning. */
export const servers = fc.record({
  profile: fc.constantFrom(...builtInProfiles.keys()),
  flags: fc.record(
    { image: fc.constantFrom(true, true, true, false, 'omit'), passExtensions: fc.constant(true) },
    { requiredKeys: [] },
  ),
  model: models,
  reasoningEvents: fc.constantFrom('summary', 'summary', 'summary_and_content', 'reasoning_text', 'reasoning'),
});

export type Server = typeof servers extends fc.Arbitrary<infer Value> ? Value : never;

/** The settings' profile for a server. */
export const profileOf = ({ profile, flags }: Server) =>
  Object.keys(flags).length === 0 ? profile : { extends: profile, ...flags };

export const habits: fc.Arbitrary<Habits> = fc.record({
  thinks: fc.constantFrom('reasoning_content', 'reasoning', 'both', 'parts', 'tags', 'details', 'blocks'),
  signs: fc.constantFrom(
    'extra_content',
    'provider_specific_fields',
    'thought_signature',
    'thoughtSignature',
    'function',
  ),
  ids: fc.constantFrom('unique', 'anew', 'same', 'none', 'functions.NAME:N'),
  hasIndex: fc.boolean(),
  repeatsIds: fc.boolean(),
  choices: fc.constantFrom('one', 'one', 'one', 'parts', 'alternative'),
});

const rarely = fc.integer({ min: 0, max: 3 }).map((number) => number === 1);
const part: fc.Arbitrary<PartPlan> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom('reasoning', 'text', 'text'),
      text: templates,
      isSigned: rarely,
      isCited: rarely,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('refusal'), text: templates }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('picture'), text: fc.constant('iVBO#') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('call'),
      tool: fc.constantFrom(...toolKindNames),
      text: templates,
      isSigned: rarely,
    }),
  },
);

export const answers: fc.Arbitrary<AnswerPlan> = fc.record({
  parts: fc.array(part, { maxLength: 6 }),
  reason: fc.constantFrom('stop', 'stop', 'stop', 'tool_calls', 'length', 'content_filter', 'unheard_of', null),
  cutAfter: fc.oneof(
    { weight: 4, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 12 }) },
  ),
});

/** The lengths of tokens, from the first on and then again. */
export const tokenSizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });

const offered = fc.subarray(toolKindNames, { minLength: 0 }).map((names): Item[] => {
  // The search of OpenAI's servers, and not one of the client's own.
  const searches = names.includes('deferred') && !names.includes('search') ? [{ type: 'tool_search' }] : [];
  return [...searches, ...names.flatMap((name) => toolsOf(name))];
});

function toolsOf(name: ToolKindName): Item[] {
  const { tool }: ToolKind = toolKinds[name];
  return tool === null ? [] : [tool];
}

const format = fc.constantFrom(
  { type: 'text' },
  { type: 'json_object' },
  { type: 'json_schema', name: 'shape', schema: { type: 'object', properties: {} }, strict: true },
);

/** Choices of tools: `nothing_left` allows only what is left out. */
const choices = [
  ...['auto', 'auto', 'auto', 'auto', 'auto', 'auto'],
  ...['required', 'none', 'named', 'allowed', 'nothing_left'],
] as const;

/** A tool of OpenAI's servers, which is left out. */
const webSearch = { type: 'web_search' };

/** The fields of a request beside its model and its input. */
export const requestFields = fc
  .record(
    {
      tools: offered,
      instructions: templates,
      include: fc.constantFrom(['reasoning.encrypted_content'], [], ['message.output_text.logprobs']),
      text: fc.record({ format }),
      tool_choice: fc.constantFrom(...choices),
      parallel_tool_calls: fc.boolean(),
      reasoning: fc.record({ effort: fc.constantFrom('low', 'high') }),
      max_output_tokens: fc.constant(64),
    },
    { requiredKeys: ['tools'] },
  )
  .map(({ tool_choice, tools, ...fields }) => {
    const [first] = tools.filter(({ type }) => type === 'function' || type === 'custom');
    if (tool_choice === undefined || first === undefined) return { ...fields, tools };
    const chosen = { type: first['type'], name: first['name'] };
    switch (tool_choice) {
      case 'named':
        return { ...fields, tools, tool_choice: chosen };
      case 'allowed':
        return { ...fields, tools, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [chosen, webSearch] } };
      case 'nothing_left':
        return { ...fields, tools, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [webSearch] } };
      default:
        return { ...fields, tools, tool_choice };
    }
  });

export type Fields = typeof requestFields extends fc.Arbitrary<infer Value> ? Value : never;

/** A turn of a dialogue: what is asked, what the server says, and what the client does with its calls. */
export const turns = fc.record({
  question: templates,
  hasPicture: rarely,
  answer: answers,
  form: fc.constantFrom<'json' | StreamForm>('json', 'one', 'pieces', 'pieces'),
  /** The outputs come in the other order. */
  isReversed: fc.boolean(),
  /** Something is said between the calls and their outputs. */
  note: fc.constantFrom(null, null, null, 'user', 'developer'),
  /** The user says something after the outputs. */
  goesOn: rarely,
});

export type TurnPlan = typeof turns extends fc.Arbitrary<infer Value> ? Value : never;
