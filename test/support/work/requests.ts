import { knownTypes } from '../../../src/filter/translate/known-types.ts';
import { partTypes } from '../../../src/filter/translate/request-to-chat/parse/parse-content.ts';
import { messagePasses } from '../../../src/filter/translate/request-to-chat/passes/message-passes.ts';
import { operations } from '../../../src/filter/translate/translate-request.ts';
import { builtInProfiles } from '../../../src/filter/upstream/profiles.ts';
import type { ChatMessage } from '../../../src/filter/wire/schema/chat-request.ts';
import { maxNameLength } from '../../../src/filter/wire/schema/create-response.ts';
import { blockOf, goldenCases } from '../golden.ts';
import { profilesWithTools } from '../profiles-with-tools.ts';
import { createTestSettings, type SettingsOverrides } from '../settings.ts';
import { type Family, keyed, MeteredExchange, nested, times } from './family.ts';

const door = 'gRPC stream';

/** Limits that let every size through: what is measured is the work, and not how soon it is refused. */
const limits = { maxItems: 1e6, maxTools: 1e6, maxValues: 1e7, maxNesting: 1e4 };

/** A server with every quirk that costs a step over all messages. */
const busyProfile = {
  extends: 'openai',
  ...{ alternateRoles: true, needsUser: true, singleCalls: true, assistantPrefix: true, toolMessageName: true },
  ...{ callIdForm: 'alphanumeric_9', emptyAssistantContent: 'empty', systemMessages: 'leading_only' },
  ...{ developerRole: 'system', reasoningReplay: 'reasoning_content', customTools: 'wrapped' },
  reasoningBackfill: { text: ' ', on: 'all' },
};

/** What a request may have more of. A request of several of them is the product that no list of fields shows. */
const amounts = {
  tools: 0,
  /** Properties of a tool that refer to one definition. */
  references: 0,
  /** References of one property. */
  branches: 0,
  /** References at the root of a tool's schema. */
  rootBranches: 0,
  /** Properties, other keys, required names and types of the definition that all of these refer to. */
  properties: 0,
  keys: 0,
  required: 0,
  types: 0,
  /** Steps from that definition to the next, and segments in the path of a reference. */
  chain: 0,
  path: 0,
  /** References of that definition to itself. */
  circles: 0,
  values: 0,
  /** Properties of a tool that are a boolean in place of a schema. */
  booleans: 0,
  /** Tools of one namespace, and the length of its name and its description. */
  namespaceTools: 0,
  description: 0,
  allowed: 0,
  /** Outputs of one call in a later turn, and the length of its name. */
  outputs: 0,
  nameLength: 0,
  /** Calls and outputs of one turn, and the length of their ids. */
  calls: 0,
  idLength: 0,
  /** Turns with a call each, all of one id. */
  turns: 0,
  /** Entries and text of an envelope, and reasoning items. */
  blocks: 0,
  details: 0,
  envelopeText: 0,
  signatures: 0,
  reasoning: 0,
  developers: 0,
  messages: 0,
  parts: 0,
  images: 0,
  text: 0,
  /** Items and fields that nobody knows, and the length of their names. */
  unknownItems: 0,
  unknownFields: 0,
  fieldName: 0,
  metadata: 0,
  /** Levels of a tool's schema, with as many properties at the bottom. */
  depth: 0,
};

type Amounts = typeof amounts;

/** What is nothing by itself: the length of what there is none of. */
const multipliers: ReadonlySet<keyof Amounts> = new Set(['path', 'idLength', 'fieldName']);

const long = (length: number) => 'n'.repeat(Math.min(32 * length, 1e6));

function schemaOf(a: Amounts): object {
  const reference = { $ref: `#/$defs/b${'/x'.repeat(Math.min(a.path, 240))}` };
  const bottom = { type: 'object', properties: keyed(a.depth, 'bottom', () => ({ type: 'integer' })) };
  const definition = {
    ...keyed(a.keys, 'key', () => 1),
    ...(a.types > 0 && { type: ['object', ...times(a.types, (index) => `type${index}`)] }),
    ...(a.properties > 0 && { properties: keyed(a.properties, 'property', () => ({ type: 'integer' })) }),
    ...(a.required > 0 && { required: times(a.required, (index) => `property${index}`) }),
    ...(a.circles > 0 && { anyOf: times(a.circles, () => ({ $ref: '#/$defs/b' })) }),
    ...(a.chain > 0 && { allOf: [{ $ref: '#/$defs/c0' }] }),
  };
  return {
    type: 'object',
    properties: {
      ...keyed(a.references, 'reference', () => ({ type: 'object', anyOf: [reference] })),
      ...(a.branches > 0 && { branches: { type: 'object', anyOf: times(a.branches, () => reference) } }),
      ...(a.values > 0 && { value: { enum: times(a.values, String) } }),
      ...(a.depth > 0 && { nested: nested(a.depth, bottom) }),
      ...keyed(a.booleans, 'boolean', () => true),
    },
    ...(a.rootBranches > 0 && { anyOf: times(a.rootBranches, () => reference) }),
    $defs: { b: definition, ...keyed(a.chain, 'c', (index) => ({ $ref: `#/$defs/c${index + 1}` })) },
  };
}

function toolsOf(a: Amounts): object[] {
  return [
    { type: 'function', name: 'f', parameters: schemaOf(a) },
    { type: 'custom', name: 'run' },
    ...times(a.tools, (index) => ({ type: 'function', name: `tool${index}`, parameters: { type: 'object' } })),
    ...(a.namespaceTools + a.description > 0
      ? [
          {
            type: 'namespace',
            name: 'space',
            description: long(a.description),
            tools: times(a.namespaceTools + 1, (index) => ({
              type: 'function',
              name: `n${index}`,
              defer_loading: true,
            })),
          },
          { type: 'tool_search' },
        ]
      : []),
  ];
}

const call = (id: string, name = 'f', more: object = {}) => ({
  ...{ type: 'function_call', call_id: id, name, arguments: '{}' },
  ...more,
});
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'done' });
const user = (content: unknown) => ({ type: 'message', role: 'user', content });

const images = (count: number) => times(count, () => ({ type: 'input_image', image_url: 'https://x.test/a.png' }));

function envelopeOf(a: Amounts): string {
  const envelope = {
    p: 'test',
    t: long(a.envelopeText),
    b: times(a.blocks, () => ({ type: 'thinking', thinking: null, signature: 's' })),
    d: times(a.details, () => ({ type: 'reasoning.text', text: null })),
    g: keyed(a.signatures, 'id', () => 's'),
  };
  return `orr1.${Buffer.from(JSON.stringify(envelope)).toString('base64url')}`;
}

function inputOf(a: Amounts): object[] {
  const id = long(a.idLength);
  return [
    ...times(a.developers, (index) => ({ type: 'message', role: 'developer', content: `rule ${index}` })),
    user('Hi'),
    ...times(a.messages, (index) => ({ type: 'message', role: index % 2 ? 'user' : 'assistant', content: 'word' })),
    ...times(a.turns, () => [user('more'), call('same'), output('same')]).flat(),
    ...(a.outputs + a.nameLength > 0
      ? [call('late', `x${long(a.nameLength)}`.slice(0, maxNameLength), { async: true }), user('and?')]
      : []),
    ...times(a.outputs, () => output('late')),
    user([
      { type: 'input_text', text: `so ${'a "\\n" '.repeat(8 * a.text)}` },
      ...times(a.parts, () => ({ type: 'input_text', text: 'part' })),
      ...images(a.images),
    ]),
    ...times(a.unknownItems, (index) => ({ type: `nobody_knows_${index}`, text: 'what it says' })),
    ...(a.blocks + a.details + a.envelopeText + a.signatures > 0
      ? [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: envelopeOf(a) }]
      : []),
    ...times(a.reasoning, (index) => ({
      ...{ type: 'reasoning', id: `rs_${index}`, summary: [{ type: 'summary_text', text: 'Hm.' }] },
      encrypted_content: envelopeOf({ ...amounts, signatures: 1 }),
    })),
    ...times(a.calls, (index) => call(`id${index}${id}`)),
    ...times(a.calls, (index) => output(`id${index}${id}`)),
  ];
}

function requestOf(a: Amounts): object {
  return {
    model: 'm',
    include: ['reasoning.encrypted_content'],
    input: inputOf(a),
    tools: toolsOf(a),
    ...(a.allowed > 0 && {
      tool_choice: {
        ...{ type: 'allowed_tools', mode: 'auto' },
        tools: times(Math.min(a.allowed, 128), (index) => ({
          type: 'function',
          name: index < a.tools ? `tool${index}` : 'f',
        })),
      },
    }),
    ...(a.metadata > 0 && { metadata: keyed(Math.min(a.metadata, 16), 'key', () => 'v') }),
    ...keyed(Math.min(a.unknownFields, 100), `field${long(a.fieldName)}`, () => 1),
  };
}

const settings = {
  plain: createTestSettings({ limits, orphanOutputs: 'synthesize', missingOutputs: 'synthesize' }),
  /** A server that takes text alone. */
  text: createTestSettings({
    limits,
    profile: { extends: 'generic', image: 'omit', arrayContent: false },
  }),
  blind: createTestSettings({ limits, profile: { extends: 'generic', image: false } }),
  /** A server that wants reasoning with each call while it thinks. */
  thinking: createTestSettings({
    limits,
    unknownFields: 'forward',
    profile: {
      extends: 'generic',
      reasoningReplay: 'reasoning_content',
      reasoningBackfill: { text: ' ', on: 'calls_while_thinking' },
    },
  }),
  strict: createTestSettings({ limits, unknownItems: 'reject', unknownFields: 'reject' }),
  /** A server that counts tokens. */
  counting: createTestSettings({ limits, profile: { extends: 'generic', tokenizePath: '/tokenize' } }),
  busy: createTestSettings({ limits, profile: busyProfile, orphanOutputs: 'synthesize', missingOutputs: 'synthesize' }),
};

function familyOf(
  name: string,
  of: (size: number) => object,
  using = settings.busy,
  {
    path = '/v1/responses',
    ...more
  }: { readonly path?: string; readonly size?: number; readonly isRefused?: true } = {},
): Family {
  return {
    ...more,
    door,
    name: `a request of ${name}`,
    make(size) {
      const body = Buffer.from(JSON.stringify(of(size)));
      return { bytes: body.length, run: () => new MeteredExchange(using).request(body, { ':path': path }).outcome() };
    },
  };
}

const amount = (names: readonly (keyof Amounts)[]) => (size: number) =>
  requestOf({ ...amounts, ...Object.fromEntries(names.map((name) => [name, size])) });
const names = Object.keys(amounts) as (keyof Amounts)[];

/** Both sizes of it are beyond what is rewritten of a root, and are sent as they came. */
const size = 160;
const sizes: ReadonlyMap<string, { readonly size: number }> = new Map([['rootBranches and path', { size }]]);

/** Every pair of amounts: each may be one that multiplies the other. Two lengths of what there is none of are nothing. */
export const pairs: readonly Family[] = names.flatMap((one, index) =>
  names
    .slice(index + 1)
    .filter((other) => !multipliers.has(one) || !multipliers.has(other))
    .map((other) => {
      const name = `${one} and ${other}`;
      return familyOf(name, amount([one, other]), settings.busy, sizes.get(name));
    }),
);

const translated = goldenCases('request').filter(
  (golden) => blockOf(golden, 'error') === null && blockOf(golden, 'chat') !== null,
);

/** The body of a golden case that is not refused and has such a type at that place, with its settings. */
function goldenOf(place: 'items' | 'parts' | 'tools', type: string) {
  for (const golden of translated) {
    const body = JSON.parse(blockOf(golden, 'request') ?? '{}') as { input?: unknown; tools?: { type?: string }[] };
    const items = Array.isArray(body.input) ? (body.input as { type?: string; content?: { type?: string }[] }[]) : [];
    const has = {
      items: () => items.some((item) => (item.type ?? 'message') === type),
      parts: () => items.some(({ content }) => Array.isArray(content) && content.some((part) => part.type === type)),
      tools: () => body.tools?.some((tool) => tool.type === type) === true,
    };
    if (!has[place]()) continue;
    const [profile = 'generic'] = JSON.parse(blockOf(golden, 'profiles') ?? '[]') as string[];
    const changes = { profile, ...(JSON.parse(blockOf(golden, 'settings') ?? '{}') as SettingsOverrides) };
    return { body, items, settings: createTestSettings({ ...changes, limits: { ...changes.limits, ...limits } }) };
  }
  throw new Error(`No golden request that is translated has ${type} among its ${place}: its cost cannot be seen.`);
}

/** The same, with names and ids of its own, so that no two are one. */
function renamed<Value>(value: Value, index: number): Value {
  if (index === 0) return value; // what a choice may name
  const text = JSON.stringify(value).replace(/("(?:call_id|id|name)":")([^"]*)"/g, `$1$2_${index}"`);
  return JSON.parse(text) as Value;
}

/** Every type that requests may have, many times, as its golden case has it. */
const ofTypes: readonly Family[] = [
  ...[...knownTypes.items.keys()].map((type) => {
    const { body, items, settings: using } = goldenOf('items', type);
    // A trigger ends its input.
    const last = items.filter((item) => item.type === 'compaction_trigger');
    const rest = items.filter((item) => !last.includes(item));
    const input = (size: number) => [
      ...times(size, (index) => rest.map((item) => renamed(item, index))).flat(),
      ...last,
    ];
    return familyOf(`items ${type}`, (size) => ({ ...body, input: input(size) }), using);
  }),
  ...[...partTypes.keys()].map((type) => {
    const { body, items, settings: using } = goldenOf('parts', type);
    const many = (size: number) =>
      items.map((item) =>
        Array.isArray(item.content) ? { ...item, content: times(size, () => item.content ?? []).flat() } : item,
      );
    return familyOf(`parts ${type}`, (size) => ({ ...body, input: many(size) }), using);
  }),
  ...[...knownTypes.tools.keys()].map((type) => {
    const { body, settings: using } = goldenOf('tools', type);
    const tools = body.tools?.filter((tool) => tool.type === type) ?? [];
    const others = body.tools?.filter((tool) => tool.type !== type) ?? [];
    const isOne = tools.every((tool) => !('name' in tool));
    // A tool without a name may be offered once: then it is what a long session has.
    const many = (size: number) => times(isOne ? 1 : size, (index) => tools.map((tool) => renamed(tool, index))).flat();
    const input = (size: number) => (isOne ? times(size, () => user('more')) : 'Hi');
    return familyOf(
      `tools ${type}`,
      (size) => ({ ...body, input: input(size), tools: [...others, ...many(size)] }),
      using,
    );
  }),
];

/** What a service of any profile is asked in a long session. */
const session = amount([
  'tools',
  'calls',
  'turns',
  'messages',
  'developers',
  'parts',
  'reasoning',
  'text',
  'properties',
]);

/** What is no JSON, or repeats what it should have once. */
const texts: readonly Family[] = (
  [
    ['colons', (size: number) => `{"a"${':'.repeat(40 * size)}`],
    ['a long name, and colons', (size: number) => `{"${long(size)}"${':,'.repeat(10 * size)}`],
    ['quotes', (size: number) => `{"a":"${'\\"'.repeat(20 * size)}`],
    ['brackets', (size: number) => '['.repeat(size)],
    ['a name that is repeated', (size: number) => `{"model":"m","input":"x"${',"a":{"b":1}'.repeat(size)}}`],
    ['numbers that are not exact', (size: number) => `{"model":"m","input":"x","x":[${'1e400,'.repeat(size)}0]}`],
    [
      'a number that is not exact behind U+0000s',
      (size: number) => `{"model":"m","input":"x","x":[${'"\\u0000",'.repeat(size)}1e400]}`,
    ],
    ['white space', (size: number) => `{"model":"m","input":${' '.repeat(20 * size)}"x"}`],
  ] as const
).map(([name, text]) => ({
  // Beyond the sizes at which a body is read in other ways.
  ...{ door, name: `a request of ${name}`, size: 400 },
  make(size) {
    const body = Buffer.from(text(size));
    return {
      bytes: body.length,
      run: () => ({ ...new MeteredExchange(settings.plain).request(body).outcome(), refused: null }),
    };
  },
}));

/** Ids that are what others would become, for each form that a server may want. */
const idForms: readonly Family[] = (['any_40', 'word_64', 'functions.NAME:N', 'NAME:N'] as const).map((callIdForm) => {
  const using = createTestSettings({ limits, profile: { extends: 'generic', callIdForm } });
  const input = (size: number) =>
    times(size, (index) => {
      const id = index < size / 2 ? `functions.f:${index + size / 2}` : `x:${index % 3}`;
      return [user('more'), call(id), output(id)];
    }).flat();
  return familyOf(`ids for a server of ${callIdForm}`, (size) => ({ model: 'm', input: input(size) }), using);
});

/** Each pass alone, over what any of them changes. */
const passes: readonly Family[] = messagePasses.map(([pass]) => ({
  ...{ door, name: `the pass ${pass.name}` },
  make(size) {
    const messages = times(size, (index): ChatMessage[] => [
      { role: 'system', content: 'rule' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      {
        role: 'assistant',
        content: '',
        reasoning: 'Hm.',
        tool_calls: ['a', 'b'].map((id) => chatCall(`${id}${index}`)),
      },
      { role: 'tool', tool_call_id: `a${index}`, content: 'done' },
      {
        role: 'tool',
        tool_call_id: `b${index}`,
        content: [{ type: 'image_url', image_url: { url: 'https://x.test/a' } }],
      },
      { role: 'assistant', content: null, tool_calls: [chatCall('same')] },
      { role: 'tool', tool_call_id: 'same', content: 'done' },
      { role: 'assistant', content: '' },
    ]).flat();
    const run = () => ({ sent: 0, counted: null, refused: null, kept: pass(messages, settings.busy.profile) });
    return { bytes: JSON.stringify(messages).length, run };
  },
}));
const chatCall = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }) as const;

/** Requests in which one thing is wrong, or left out, again and again. */
const wrong: readonly Family[] = [
  ...[...partTypes.keys()].map((type) =>
    familyOf(
      `parts ${type}, none of them well formed`,
      (size) => ({ model: 'm', input: [user(times(size, () => ({ type, text: 3, image_url: 3, input_audio: 3 })))] }),
      settings.plain,
      { isRefused: true },
    ),
  ),
  ...(
    [
      ['metadata', { metadata: 3 }],
      ['safety_identifier', { safety_identifier: 'x'.repeat(1000) }],
      ['reasoning', { reasoning: { effort: 'x' } }],
      ['tool_choice', { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } }],
      ['type of a tool', { tools: [{ type: 'nobody_knows' }] }],
    ] as const
  ).map(([name, fields]) =>
    familyOf(
      `a wrong ${name} behind a long input`,
      (size) => ({ model: 'm', input: times(size, () => user('more')), ...fields }),
      settings.strict,
      { isRefused: true },
    ),
  ),
];

/** Messages alone. */
const talk = (size: number) =>
  times(size, (index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: 'word' }));

export const requests: readonly Family[] = [
  ...wrong,
  ...texts,
  ...passes,
  ...idForms,
  familyOf('a prewarm', (size) => ({ model: 'm', generate: false, input: times(size, () => user('more')) })),
  ...names.filter((name) => !multipliers.has(name)).map((name) => familyOf(name, amount([name]))),
  familyOf('outputs without an id behind their calls', (size) => ({
    model: 'm',
    input: [
      ...times(size, (index) => call(`id${index}`)),
      ...times(size, () => ({ type: 'function_call_output', name: 'f', output: 'x' })),
    ],
    tools: [{ type: 'function', name: 'f' }],
  })),
  familyOf('images for a server of text', amount(['images']), settings.text),
  familyOf(
    'images of a history for a server that takes none',
    (size) => ({ model: 'm', input: [user(images(size)), { role: 'assistant', content: 'I see.' }, user('So?')] }),
    settings.blind,
  ),
  familyOf(
    'a session whose client switches thinking off',
    (size) => ({ ...session(size), thinking: { type: 'disabled' } }),
    settings.thinking,
    { size: 6 },
  ),
  // Where one thing names, repeats or refers to another.
  ...(
    [
      ['references', 'keys'],
      ['references', 'properties'],
      ['branches', 'keys'],
      ['branches', 'types'],
      ['rootBranches', 'required'],
      ['rootBranches', 'properties'],
      ['rootBranches', 'chain'],
      ['references', 'path'],
      ['circles', 'properties'],
      ['circles', 'rootBranches'],
      ['tools', 'allowed'],
      ['namespaceTools', 'description'],
      ['outputs', 'nameLength'],
      ['calls', 'idLength'],
      ['calls', 'reasoning'],
      ['calls', 'signatures'],
      ['blocks', 'envelopeText'],
      ['details', 'envelopeText'],
      ['unknownFields', 'fieldName'],
    ] as const
  ).map((pair) => familyOf(pair.join(' and '), amount(pair))),
  ...ofTypes,
  ...[...builtInProfiles.keys()].map((profile) =>
    familyOf(
      `a session with ${profile}`,
      profilesWithTools.includes(profile) ? session : (size) => ({ ...session(size), input: talk(size), tools: [] }),
      createTestSettings({ profile, limits }),
      { size: 6 },
    ),
  ),
  ...operations.map(({ path }) =>
    familyOf(`a session at ${path.join('/')}`, session, settings.counting, { path: `/${path.join('/')}`, size: 6 }),
  ),
];
