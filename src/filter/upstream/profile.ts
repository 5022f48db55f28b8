import * as z from 'zod/mini';

/**
 * The differences between Chat Completions servers, as data: one flag each. A flag says what the *server* accepts and
 * sends; the code that reads it decides what to do about it. The type `Profile`, the check of a profiles file, its JSON schema and the table
 * in `docs/upstreams-reference.md` are all made from these flags.
 */

/** A regular expression: as text, `/qwen/i`, in a file; a `RegExp` in code. */
export const pattern = z.pipe(
  z.string().check(z.regex(/^\/.+\/[imsu]*$/, 'must be a regular expression such as /qwen3/i')),
  z.transform((text: string, check) => {
    const end = text.lastIndexOf('/');
    try {
      return new RegExp(text.slice(1, end), text.slice(end + 1));
    } catch (cause) {
      const message = `is not a regular expression (${(cause as Error).message})`;
      check.issues.push({ code: 'custom', input: text, message });
      return z.NEVER;
    }
  }),
);

const urlPath = z.string().check(z.regex(/^\/[\x21-\x7e]*$/, 'must be a path that starts with /'));

/** Each error of an upstream is matched against all wordings. */
const maxWordings = 50;
const maxWordingLength = 200;

const effortRule = z.strictObject({
  models: pattern.check(z.describe('Models the rule is for.')),
  efforts: z.record(z.string(), z.string()).check(z.describe('Effort asked for → effort sent.')),
});

const toolChoiceSupport = z.strictObject({
  sent: z.boolean().check(z.describe('False: the server ignores the field, so it is not sent.')),
  required: z
    .nullable(z.enum(['required', 'any', 'ignored']))
    .check(
      z.describe(
        'Its word for “call some tool”; null when it has none; `ignored` when it takes one and answers with text.',
      ),
    ),
  named: z.boolean().check(z.describe('One function by name.')),
  allowed: z.boolean().check(z.describe('`allowed_tools`.')),
});

interface Flag<Schema extends z.ZodMiniType> {
  readonly schema: Schema;
  /** The value in `generic`. */
  readonly usual: Frozen<z.output<Schema>>;
  readonly meaning: string;
  /** What each value means, or each field of an object; undefined where `meaning` says all. */
  readonly meanings: Meanings | undefined;
  /** Why `doctor` does not ask a server about the flag. Flags without a reason have a row in `doctor/evidence.ts`. */
  readonly unprobed: string | undefined;
}

type Meanings = Readonly<Record<string, string>>;

function flag<Schema extends z.ZodMiniType>(
  values: Schema,
  usual: Frozen<z.output<Schema>>,
  meaning: string,
  unprobed?: string,
  meanings?: Meanings,
): Flag<Schema> {
  const each = Object.entries(meanings ?? {}).map(([name, text]) => ` \`${name}\`: ${text}.`);
  return { schema: values.check(z.describe(meaning + each.join(''))), usual, meaning, meanings, unprobed };
}

function choice<Name extends string>(
  usual: NoInfer<Name>,
  meaning: string,
  meanings: Readonly<Record<Name, string>>,
  unprobed?: string,
): Flag<z.ZodMiniEnum<{ readonly [Each in Name]: Each }>> {
  const names = Object.fromEntries(Object.keys(meanings).map((name) => [name, name]));
  const values = z.enum(names as { readonly [Each in Name]: Each });
  return flag(values, usual as Frozen<z.output<typeof values>>, meaning, unprobed, meanings);
}

const on = (meaning: string) => flag(z.boolean(), true, meaning);
const off = (meaning: string, unprobed?: string) => flag(z.boolean(), false, meaning, unprobed);

export const profileFlags = {
  path: flag(
    urlPath,
    '/v1/chat/completions',
    'Replaces `/v1/responses` (a prefix before `/v1` is kept); `{model}` is filled in.',
  ),
  tokenizePath: flag(
    z.nullable(urlPath),
    null,
    'Where the server counts the tokens of `messages` and `tools`.',
    'It is part of an engine’s own API: an engine that has it is recognised by how it identifies itself.',
  ),

  // What is sent: fields
  maxTokensField: flag(z.enum(['max_tokens', 'max_completion_tokens']), 'max_tokens', 'Field for `max_output_tokens`.'),
  includeUsage: on('Understands `stream_options.include_usage`.'),
  refusedFields: flag(
    z.array(z.enum(['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'logprobs', 'stop'])),
    [],
    'Chat fields the server does not take: a request with one is refused; `temperature` and `top_p` are dropped and listed.',
  ),
  verbosity: off('Takes `verbosity`.', 'Answers differ in length by themselves: one longer answer shows nothing.'),
  user: on('Takes `user`; else it is dropped and listed.'),
  safetyIdentifier: off('Takes `safety_identifier`.', 'A label, which no answer reflects.'),
  promptCacheKey: off(
    'Takes `prompt_cache_key`.',
    'What is cached shows only when long prompts are repeated, and may come from a cache without keys.',
  ),
  prefixCache: off(
    'Keeps the beginning of a prompt for the next request: a request to prewarm is sent, with a limit of one token.',
    'On most servers a cache shows only in the time taken; the engines that have one are recognised by name.',
  ),
  serviceTiers: flag(
    z.record(z.string(), z.string()),
    {},
    'Service tiers the server knows → its word for each.',
    'Which tiers there are depends on the account, and some cost more.',
  ),
  defaults: flag(
    z.record(z.string(), z.json()),
    {},
    'Fields that are sent unless the client sends its own; objects are merged.',
  ),
  openaiOnly: off(
    'Takes `moderation`, `prompt_cache_retention`, `prompt_cache_options`, breakpoints in content parts, the image detail `original`, and `stream_options.include_obfuscation: false`.',
    'One vendor has them, and is recognised by its host.',
  ),
  guardrails: off(
    'Takes `guardrails`; else a request with some is refused.',
    'Which guardrails there are is up to the proxy, and a harmless prompt passes them all.',
  ),
  renames: flag(
    z.record(z.string(), z.string()),
    {},
    'Fields with another name upstream: `seed` → `random_seed`.',
    'What another name would be cannot be guessed.',
  ),
  jsonSchema: choice('native', 'What makes an answer fit a JSON schema.', {
    native: 'the server',
    native_without_tools: 'the server; beside tools the prompt',
    native_schema: 'as `native_without_tools`, and a request for plain JSON is sent with a schema for any object',
    json_object: 'the prompt; the server ensures plain JSON',
    prompt: 'the prompt alone',
  }),

  // What is sent: reasoning
  reasoningEffort: choice('reasoning_effort', 'The field that takes the effort.', {
    reasoning_effort: '`reasoning_effort`',
    reasoning_object: '`reasoning.effort`',
    thinking_type: '`thinking.type`, a switch without levels',
    thinking_keep: 'as `thinking_type`, and the server is asked to read earlier reasoning',
    thinking_and_effort: '`thinking.type` and `reasoning_effort`',
    enable_thinking: '`enable_thinking`, a switch without levels',
    none: 'no field',
  }),
  effortRules: flag(
    z.array(effortRule),
    [],
    'Efforts a model refuses → what is sent instead; the first rule that matches counts.',
  ),
  effortWithTools: flag(
    z.nullable(z.strictObject({ effort: z.string(), when: z.enum(['offered', 'required']) })),
    null,
    'The only effort that it takes where tools are offered, or a call is required.',
  ),
  reasoningReplay: flag(
    z.enum(['none', 'reasoning_content', 'reasoning', 'both', 'reasoning_details', 'mistral_thinking']),
    'none',
    'How earlier reasoning is given back. Signed `thinking_blocks` go back regardless of this flag.',
  ),
  reasoningScope: choice(
    'all',
    'Which assistant messages get their reasoning back.',
    { all: 'every one', tool_turns: 'every one after the last user message' },
    'Both are taken: it is a choice of what is worth its tokens.',
  ),
  reasoningBackfill: flag(
    z.nullable(z.strictObject({ text: z.string(), on: z.enum(['all', 'calls', 'calls_while_thinking']) })),
    null,
    'What replaces missing reasoning, and on which assistant messages.',
    'A model would have to reason before a call; the servers that require the field are recognised by their hosts.',
  ),
  geminiSignatures: off(
    'Refuses calls without a thought signature: those made elsewhere get Google’s word for “no signature”.',
  ),

  // What is sent: messages
  developerRole: flag(z.enum(['keep', 'system']), 'system', 'Whether the role `developer` is known.'),
  systemMessages: choice('leading_only', 'Where system messages may stand.', {
    anywhere: 'anywhere',
    merge_leading: 'anywhere, but the leading ones are merged',
    leading_only: 'only at the start, merged; later ones become user messages',
  }),
  alternateRoles: off(
    'User and assistant messages must alternate: neighbours of one role are merged, and a missing message is inserted.',
  ),
  needsUser: off('Requires a user message: a short one is inserted.'),
  singleCalls: off('An assistant message may hold one tool call: each of several gets a message, with its output.'),
  emptyAssistantContent: flag(z.enum(['null', 'empty']), 'null', '`content` of a message that holds only tool calls.'),
  arrayContent: off('Several text parts may stay an array; otherwise they become one text.'),
  refusalField: off(
    'Assistant messages have a `refusal` field.',
    'Where the field is not known it is ignored, and the answer is the same.',
  ),
  file: flag(
    z.enum(['openai', 'mistral', 'openrouter', 'none']),
    'none',
    'The shape of file parts; `none` takes text files alone, as text.',
    'The shapes belong to vendors that are recognised by their hosts; pages are paid for as images.',
  ),
  image: flag(z.union([z.boolean(), z.enum(['omit'])]), true, 'Takes `image_url` parts.', undefined, {
    false: 'an image in the user’s latest messages is refused, and an earlier one becomes a short text',
    omit: 'every image becomes a short text',
  }),
  audio: on('Takes `input_audio` parts. `false` means what it means for `image`.'),
  video: off('Takes `video_url` parts. `false` means what it means for `image`.'),
  callIdForm: choice('any', 'The form of a tool call’s id. Other ids, and repeated ones, are replaced.', {
    any: 'any text',
    any_40: 'at most 40 characters',
    word_64: 'at most 64 letters, digits, `_` and `-`',
    alphanumeric_9: 'nine letters or digits',
    'functions.NAME:N': 'the function’s name and the number of earlier calls',
    'NAME:N': 'likewise, without `functions.`',
  }),
  toolMessageName: off(
    'Tool messages repeat the function’s name.',
    'With the name and without it, the answer is the same.',
  ),
  assistantAfterTool: off(
    'After a tool message only an assistant’s or a tool’s may follow: a short assistant message is inserted.',
  ),
  assistantPrefix: off(
    'A last assistant message is continued only when marked `prefix: true`.',
    'Whether an answer continues the last message depends on the model as well.',
  ),

  cacheControl: off(
    'Takes `cache_control` on content parts and tools.',
    'What is cached shows only when long prompts are repeated, and may come from a cache without marks.',
  ),

  // What is sent: tools
  tools: on('Takes tools; else a request with some is refused.'),
  strict: on('Understands `strict` of functions and of JSON schemas.'),
  toolSchemaRoot: choice(
    'any',
    'The root of the schema of a tool’s parameters.',
    {
      any: 'any schema',
      object: 'a schema with `"type": "object"` and `properties`',
      bare_object: 'as `object`, without `$schema` and `$id`',
      plain_object:
        'as `object`, without `anyOf`, `oneOf`, `allOf`, `not`, `enum` and `const`. The properties of all branches are kept, and the rest is listed in `x-responses-dropped`',
    },
    'Every server takes the plainest root, and a probe for each form would cost more.',
  ),
  maxToolName: flag(
    z.literal([64, 128]),
    64,
    'Characters that a tool’s name may have: a longer one is shortened, and restored in the answer.',
    'Names are shortened for every server that is not known to take longer ones.',
  ),
  customTools: choice('wrapped', 'How a custom tool is sent.', {
    native: 'as a custom tool',
    wrapped: 'as a function with one text',
    wrapped_strict: 'as a function with one text, marked `strict`',
  }),
  parallelToolCalls: on('Takes `parallel_tool_calls`.'),
  toolStream: off(
    'Streams the arguments of calls only when told to, with `tool_stream: true`.',
    'Servers that do not know the field answer as if it were not there; one vendor has it, recognised by its host.',
  ),
  stubTools: off(
    'Refuses calls in the history where no tools are offered: the called tools are, but cannot be chosen.',
  ),
  toolChoice: flag(
    toolChoiceSupport,
    { sent: true, required: 'required', named: true, allowed: false },
    'What the server reads of `tool_choice`. For a choice that it cannot express, fewer tools are offered.',
    undefined,
    {
      sent: 'whether it reads the field at all; otherwise the field is not sent',
      required: 'its word for “call some tool”; `ignored` where it answers with text all the same',
      named: 'whether one function can be chosen by name',
      allowed: 'whether `allowed_tools` can be sent',
    },
  ),

  // What comes back
  thinkTags: choice(
    'auto',
    'Where reasoning is read from tags inside the text (`<think>`, `<thinking>`, `<thought>`, `<reasoning>`, `<seed:think>`, `<mm:think>`, `[THINK]`, Harmony’s channels).',
    { off: 'nowhere', auto: 'at the start of the answer', on: 'at the start, and after calls' },
  ),
  implicitThink: off('The text begins inside the reasoning, without an opening tag; needs `thinkTags`.'),
  reasoningTokensExtra: off('Reasoning tokens are not part of `completion_tokens`.'),
  contextOverflow: flag(
    z
      .array(
        z.pipe(
          z.string().check(z.maxLength(maxWordingLength, `must have at most ${maxWordingLength} characters`)),
          pattern,
        ),
      )
      .check(z.maxLength(maxWordings, `must be at most ${maxWordings}`)),
    [],
    'Wording of its errors when a prompt is too long, as regular expressions (RE2), beside those known for all servers.',
    'The wordings known for all servers are found without it; others need a person to read them.',
  ),
  dedupeTail: off(
    'The last chunk may repeat the whole text, if no call stands between. Reasoning and refusals that are repeated stay.',
    'Some answers of one vendor did this, which is recognised by its host.',
  ),
  cumulativeDeltas: off('Each delta repeats the text, the reasoning, the refusal or the arguments before it.'),
  passExtensions: off(
    'A provider’s extensions pass. The client gets events named `provider:type`, content parts, and other fields and keys of usage; its library must accept them. The server gets parts, tools, fields and keys with such a name. Without the flag, extensions are left out, and counted or listed.',
    'It depends on the clients: some throw on events that they do not know.',
  ),
} as const;

export type FlagName = keyof typeof profileFlags;

export type ProfileFlags = {
  readonly [Name in FlagName]: (typeof profileFlags)[Name]['usual'];
};

/** What one kind of server accepts and sends. */
export interface Profile extends ProfileFlags {
  readonly name: string;
  /** Flags that belong to a model rather than to the server. Every rule that matches counts, and later ones win. */
  readonly models: readonly ModelRule[];
}

export interface ModelRule {
  readonly match: RegExp;
  /** Why, with its source; only on a built-in profile's rules. */
  readonly reason?: string;
  /** All flags except the paths: the path of a request is settled before its model is known. */
  readonly flags: Partial<Omit<ProfileFlags, 'path' | 'tokenizePath'>>;
}

export type ToolChoiceSupport = ProfileFlags['toolChoice'];

type Frozen<Value> = Value extends RegExp
  ? Value
  : Value extends readonly (infer Element)[]
    ? readonly Frozen<Element>[]
    : Value extends object
      ? { readonly [Key in keyof Value]: Frozen<Value[Key]> }
      : Value;

/** The profile itself, or a copy with the flags of the rules that match the model. */
export function profileForModel(profile: Profile, model: string): Profile {
  const matching = profile.models.filter(({ match }) => match.test(model));
  return matching.length === 0 ? profile : Object.assign({ ...profile }, ...matching.map(({ flags }) => flags));
}
