import { expect, it } from 'vitest';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { chatRequestBody } from '../../../../../src/filter/wire/schema/chat-request.ts';
import { generalOf } from '../../../../../src/formats/json/loose.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { goldenRequests } from '../../../../support/golden.ts';
import { variantsOfPublished } from '../../../../support/published-types.ts';
import { createTestSettings, type SettingsOverrides } from '../../../../support/settings.ts';

/**
 * Every object of a request, as the published types and all golden cases have them, gets a key that nobody knows. The key reaches the
 * upstream, or is named as left out by its own path, or an object around it is, or the request is refused for it.
 */
type Json = Readonly<Record<string, unknown>>;
type Path = readonly (string | number)[];

const ask = { role: 'user', content: 'Hi' };
const calls = ['function_call', 'custom_tool_call', 'shell_call', 'local_shell_call', 'apply_patch_call'];

/** A request with the item, and with the call or the output that belongs to it. */
function requestWith(item: Json): Json {
  const { type, name = 'f', namespace } = item;
  const call_id = item['call_id'] ?? item['id'];
  const partners: Readonly<Record<string, readonly [before: Json[], after: Json[]]>> = {
    ...Object.fromEntries(
      calls.flatMap((kind) => [
        [kind, [[], [{ type: 'function_call_output', call_id, output: 'ok' }]]],
        [`${kind}_output`, [[{ type: 'function_call', call_id, name, namespace, arguments: '{}' }], []]],
      ]),
    ),
    tool_search_call: [[], [{ type: 'tool_search_output', call_id, tools: [] }]],
    tool_search_output: [[{ type: 'tool_search_call', call_id, arguments: {} }], []],
  };
  const [before, after] = partners[String(type)] ?? [[], []];
  return { model: 'm', input: [ask, ...before, item, ...after, ...(type === 'compaction_trigger' ? [] : [ask])] };
}

const tools = [
  ...['function', 'custom'].map((type) => ({ type, name: type === 'custom' ? 'any' : 'text' })),
  ...['shell', 'local_shell', 'apply_patch'].map((type) => ({ type })),
];

/** A request for each value that a field of the published type may have. */
function requestsOfFields(): readonly Json[] {
  return variantsOfPublished('ResponseCreateParamsNonStreaming').flatMap(({ what, value }) => {
    const field = /^\.(\w+)/.exec(what)?.[1];
    return field === undefined ? [] : [{ model: 'm', input: 'Hi', tools, [field]: (value as Json)[field] }];
  });
}

const published: readonly Json[] = [
  ...variantsOfPublished('ResponseInputItem').map(({ value }) => requestWith(value as Json)),
  ...requestsOfFields(),
  ...variantsOfPublished('ChatCompletionContentPart').map(({ value }) =>
    requestWith({ role: 'user', content: [value] }),
  ),
  ...variantsOfPublished('ChatCompletionTool').map(({ value }) => ({ model: 'm', input: 'Hi', tools: [value] })),
  ...variantsOfPublished('ChatCompletionToolChoiceOption').map(({ value }) => ({
    model: 'm',
    input: 'Hi',
    tools,
    tool_choice: value,
  })),
];

interface Place {
  readonly body: Json;
  /** Of an object in it. */
  readonly path: Path;
}

/** The objects of all bodies, each kind once: with those keys, in objects of those types. */
function placesIn(list: readonly Json[]): readonly Place[] {
  const places = new Map<string, Place>();
  const walk = (body: Json, value: unknown, path: Path, around: string) => {
    if (Array.isArray(value)) {
      for (const [index, entry] of value.entries()) walk(body, entry, [...path, index], around);
    } else if (typeof value === 'object' && value !== null) {
      const { type, role } = value as Json;
      const kind = `${around} ${type} ${role}`;
      const known = `${kind} ${Object.keys(value).sort().join()}`;
      if (!places.has(known)) places.set(known, { body, path });
      for (const [key, inner] of Object.entries(value)) walk(body, inner, [...path, key], `${kind}.${key}`);
    }
  };
  for (const body of list) walk(body, body, [], '');
  return [...places.values()];
}

function pathText(path: Path): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1);
}

function withKey(value: unknown, [step, ...rest]: Path, key: string): unknown {
  if (step === undefined) return { ...(value as Json), [key]: 'mark' };
  if (Array.isArray(value)) return value.map((entry, index) => (index === step ? withKey(entry, rest, key) : entry));
  return { ...(value as Json), [step]: withKey((value as Json)[step], rest, key) };
}

function outcomeOf(body: unknown, settings: SettingsOverrides) {
  const clock = { now: () => 1, newId: createCountedIds() };
  try {
    const { chat, passthrough, dropped } = translateRequest(body, createTestSettings(settings), clock);
    return { sent: JSON.stringify(chatRequestBody(chat, passthrough)), dropped };
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
}

/** Whether a name is that of an object around the place: `input[3].web_search_call`, `text.format`. */
function isWholeNamed(dropped: readonly string[], { body, path }: Place): boolean {
  let value: unknown = body;
  const around = path.flatMap((step, depth) => {
    value = (value as Record<string | number, unknown>)[step];
    const type = typeof value === 'object' && value !== null && 'type' in value ? [`.${value.type}`] : [];
    const at = pathText(path.slice(0, depth + 1));
    return ['', ...type].flatMap((end) => [at + end, generalOf(at) + end]);
  });
  return dropped.some((name) => around.includes(name));
}

/** What `docs/mapping.md` says is left out whole, or is repeated. */
const leftOut = [
  /^metadata$/,
  /^client_metadata\b/,
  /\.(annotations|logprobs|parsed|prompt_cache_breakpoint)\b/,
  /^input\[\]\.(caller|error|svg_usage)\b/,
];

/** A search that ran on OpenAI's servers is told by its output, and a tool is replaced by one that is declared later. */
function isHistory({ body, path: [list, index] }: Place): boolean {
  const entry = (body[String(list)] as Json[] | undefined)?.[Number(index)];
  if (entry?.['type'] === 'tool_search_call') return entry['call_id'] == null;
  return list === 'tools' && JSON.stringify(body['input']).includes('"additional_tools"');
}

const modes: readonly (readonly [what: string, key: string, settings: SettingsOverrides])[] = [
  ...['generic', 'openai', 'openrouter', 'mistral'].map((profile) => [`for ${profile}`, 'zz', { profile }] as const),
  ['with UNKNOWN_FIELDS=reject', 'zz', { unknownFields: 'reject' }],
  ['with passExtensions', 'acme:zz', { profile: { extends: 'openai', passExtensions: true } }],
  ['with passExtensions and one text', 'acme:zz', { profile: { extends: 'generic', passExtensions: true } }],
];
const places = placesIn([...published, ...goldenRequests().map(({ request }) => request)]);

it.each(modes)('no object of a request strips in silence %s', (_, key, settings) => {
  const silent = new Set<string>();
  let tried = 0;
  for (const place of places) {
    const at = pathText(place.path);
    const isLeftOut = leftOut.some((pattern) => pattern.test(generalOf(at))) || isHistory(place);
    if (isLeftOut || outcomeOf(place.body, settings) instanceof ApiError) continue;
    tried++;
    const name = at === '' ? key : `${at}.${key}`;
    const outcome = outcomeOf(withKey(place.body, place.path, key), settings);
    const isTold =
      outcome instanceof ApiError
        ? outcome.param === name && outcome.code === 'unknown_parameter'
        : outcome.sent.includes('mark') ||
          outcome.dropped.includes(generalOf(name)) ||
          isWholeNamed(outcome.dropped, place);
    if (!isTold) silent.add(`${generalOf(name)} in ${JSON.stringify(place.body).slice(0, 300)}`);
  }
  expect([...silent]).toEqual([]);
  expect(tried).toBeGreaterThan(1000);
});

it('with UNKNOWN_FIELDS=reject a request of published types is refused for no key', () => {
  const refused = published.flatMap((body) => {
    const outcome = outcomeOf(body, { unknownFields: 'reject' });
    return outcome instanceof ApiError && outcome.code === 'unknown_parameter' ? [outcome.param] : [];
  });
  expect([...new Set(refused)].sort()).toEqual([]);
});
