import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, test } from 'vitest';
import { signaturesIn } from '../support/signatures.ts';

/**
 * The floors and their folders, each with the folders of its own floor that it may use: folders above it alone, so that data goes one
 * way. Beyond that, each floor may use those above it here.
 */
const floors: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  formats: {
    bytes: [],
    credentials: [],
    json: [],
    sse: ['bytes'],
  },
  filter: {
    'wire/schema': [],
    'wire/sse': ['wire/schema'],
    upstream: [],
    'translate/shared': ['upstream', 'wire/schema'],
    // The functions that read a request are told which types there are: they import neither `items` nor `client-tools`.
    'translate/request-to-chat/parse': ['translate/shared', 'upstream', 'wire/schema'],
    'translate/request-to-chat/parse/items': ['translate/request-to-chat/parse', 'translate/shared', 'wire/schema'],
    'translate/request-to-chat/passes': ['translate/shared', 'upstream', 'wire/schema'],
    'translate/request-to-chat': [
      ...['translate/request-to-chat/parse', 'translate/request-to-chat/passes', 'translate/shared'],
      ...['upstream', 'wire/schema'],
    ],
    'translate/client-tools': [
      ...['translate/request-to-chat/parse', 'translate/request-to-chat/parse/items', 'translate/shared'],
      'wire/schema',
    ],
    'translate/chat-to-response/read': ['translate/shared', 'upstream', 'wire/schema'],
    'translate/chat-to-response/write': [
      ...['translate/chat-to-response/read', 'translate/client-tools', 'translate/shared'],
      'wire/schema',
    ],
    'translate/chat-to-response': [
      ...['translate/chat-to-response/read', 'translate/chat-to-response/write', 'translate/shared'],
      ...['upstream', 'wire/schema'],
    ],
    'translate/operations': [
      ...['translate/chat-to-response', 'translate/chat-to-response/read'],
      ...['translate/request-to-chat', 'translate/request-to-chat/passes', 'translate/shared'],
      ...['upstream', 'wire/schema'],
    ],
    // The two files that know them all: the rows of known types, and what joins them to the functions that read a request.
    translate: [
      ...['translate/client-tools', 'translate/operations', 'translate/request-to-chat', 'translate/shared'],
      ...['translate/request-to-chat/parse', 'translate/request-to-chat/parse/items', 'wire/schema'],
    ],
    exchange: [
      ...['translate', 'translate/chat-to-response', 'translate/operations', 'translate/request-to-chat'],
      ...['translate/shared', 'upstream', 'wire/schema', 'wire/sse'],
    ],
    extproc: ['exchange'],
  },
  service: {
    settings: [],
    memory: ['settings'],
    // A client of the proxy: what becomes of a turn is the exchange's business.
    websocket: ['memory'],
    telemetry: ['settings'],
    server: ['memory', 'settings', 'telemetry'],
  },
  tools: {
    cli: [],
    files: [],
    explain: ['cli', 'files'],
    // Reads what explain writes, by its types.
    inspect: ['explain', 'files'],
    doctor: ['cli'],
  },
  // What starts everything; it loads the tools when they are asked for.
  program: { '': [] },
};

/** The only file of the filter that the others import. */
const face = 'filter/index.ts';

/** What a client of the proxy uses of the filter: errors, estimates, and tables of moves. What becomes of a turn is the exchange's business. */
const ofWebSocket = /^(ApiError\w*|checkMove|estimated\w+|Moves)$/;

/** Rooms without sockets, clock, randomness or environment, all of the filter among them: the packages and built-ins they may use. */
const pure: Readonly<Record<string, readonly string[]>> = {
  // Bodies are decoded.
  'formats/bytes': ['minizlib', 'node:buffer', 'node:zlib'],
  'formats/credentials': [],
  'formats/json': [],
  // The global `Buffer` is looked up anew each time it is used.
  'formats/sse': ['node:buffer'],
  'filter/wire/schema': ['zod/mini', 'zod/v4/core'],
  'filter/wire/sse': ['node:buffer'],
  // What reads a file of profiles is loaded when there is one.
  'filter/upstream': ['node:module', 're2js', 'yaml', 'zod/mini'],
  // Ids that must come out the same for the same request are hashed; arguments are compared by value.
  'filter/translate': ['node:crypto', 'node:util', 'zod/mini'],
  // A session is recognised by a keyed hash.
  'filter/exchange': ['node:buffer', 'node:crypto'],
  'filter/extproc': ['node:buffer'],
  'service/settings': [],
  'tools/files': ['node:buffer', 'zod/mini'],
};

const repository = fileURLToPath(new URL('../../', import.meta.url));
const root = join(repository, 'src');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
const pureFiles = files.filter((file) => purityOf(file) !== undefined);

/** The floor of a file, and its folder there: of the translation and of formats the innermost. */
function placeOf(file: string): readonly [floor: string, folder: string] {
  const [, floor = '', folder = ''] = /^(\w+)\/(?:(translate(?:\/[\w-]+)*|wire\/\w+|\w+)\/)?/.exec(file) ?? [];
  return [floor, folder];
}

/** The row of `pure` for a file; undefined for a file that need not be pure. */
function purityOf(file: string): readonly string[] | undefined {
  return Object.entries(pure).find(([folder]) => file.startsWith(`${folder}/`))?.[1];
}

const imports = /(?:^import [^;']*|\b(?:import|require)\()'([^']+)'/gm;

/** What a file imports, lazily too. */
function importsOf(file: string): string[] {
  return [...readFileSync(join(root, file), 'utf8').matchAll(imports)].map(([, name = '']) => name);
}

function filesImportedBy(file: string): string[] {
  const names = importsOf(file).filter((name) => name.startsWith('.'));
  return names.map((name) => relative(root, resolve(root, dirname(file), name)));
}

/** May the file at `from` import the one at `to`? */
function isAllowed(from: string, to: string): boolean {
  const [floor, folder] = placeOf(from);
  const [otherFloor, otherFolder] = placeOf(to);
  if (otherFloor === 'filter' && floor !== 'filter') return to === face && floor !== 'formats';
  if (floor !== otherFloor) return Object.keys(floors).indexOf(otherFloor) < Object.keys(floors).indexOf(floor);
  return folder === otherFolder || floors[floor]?.[folder]?.includes(otherFolder) === true;
}

test('every folder of the filter is pure', () => {
  for (const floor of ['formats', 'filter'])
    for (const folder of Object.keys(floors[floor] ?? {}))
      expect(purityOf(`${floor}/${folder}/file.ts`), folder).toBeDefined();
});

test('the floors and folders are all here, each folder below those that it uses', () => {
  const inside = files.filter((file) => file.includes('/') && file !== face);
  for (const [floor, folders] of Object.entries(floors)) {
    const names = Object.keys(folders);
    const found = inside.filter((file) => file.startsWith(`${floor}/`)).map((file) => placeOf(file)[1]);
    expect(names.toSorted(), floor).toEqual([...new Set(found)].sort());
    for (const [place, name] of names.entries())
      expect(names.slice(0, place), name).toEqual(expect.arrayContaining([...(folders[name] ?? [])]));
  }
  expect(Object.keys(floors).sort()).toEqual([...new Set(inside.map((file) => placeOf(file)[0]))].sort());
});

describe('the interface of the filter', () => {
  const outside = globSync(
    ['src/{program,service,tools}/**/*.{ts,tsx}', '{bench,mesh,scripts,docs/examples}/**/*.{ts,mjs}'],
    {
      cwd: repository,
    },
  );

  test.each(outside)('is all that %s imports of it', (file) => {
    const within = (name: string) => relative(root, resolve(repository, dirname(file), name));
    const imported = [...readFileSync(join(repository, file), 'utf8').matchAll(imports)].map(([, name = '']) => name);
    const ofFilter = imported.filter((name) => name.startsWith('.') && within(name).startsWith('filter/'));
    expect(ofFilter.filter((name) => within(name) !== face)).toEqual([]);
  });

  test('has the type of every parameter and result by name, and no name that nobody outside uses', () => {
    const exported = new Map(
      [...readFileSync(join(root, face), 'utf8').matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)'/gm)].flatMap(
        ([, list = '', file = '']) =>
          list.split(',').flatMap((one) => {
            const name = one.trim().replace(/^type /, '');
            return name === '' ? [] : [[name, join('filter', file)] as const];
          }),
      ),
    );
    expect(exported.size).toBeGreaterThan(60);
    const signatures = [...exported].flatMap(([name, file]) => signaturesIn(join(root, file), name));
    // A result that is inferred, or a parameter that has no name, is one that its caller cannot write down.
    expect(signatures.filter(({ unnamed }) => unnamed).map(({ where }) => where)).toEqual([]);
    const named = new Set(signatures.flatMap(({ types }) => types));
    expect([...named].filter((type) => !exported.has(type))).toEqual([]);
    const text = outside.map((file) => readFileSync(join(repository, file), 'utf8')).join('\n');
    const unused = [...exported.keys()].filter((name) => !named.has(name) && !new RegExp(`\\b${name}\\b`).test(text));
    expect(unused).toEqual([]);
  });

  test.each(outside)('is used by its names in %s', (file) => {
    const text = readFileSync(join(repository, file), 'utf8');
    const [, list = ''] = /^import (?:type )?\{([^}]*)\} from '[^']*filter\/index\.ts'/m.exec(text) ?? [];
    const names = list.split(',').map((name) => name.trim().replace(/^type /, ''));
    const derived = [...text.matchAll(/\b(?:ReturnType|Parameters|ConstructorParameters)<(?:typeof )?(\w+)/g)];
    expect(derived.map(([, name = '']) => name).filter((name) => names.includes(name))).toEqual([]);
  });

  test('gives a WebSocket nothing of an exchange or a translation', () => {
    for (const file of files.filter((one) => one.startsWith('service/websocket/'))) {
      const [, list = ''] =
        /^import (?:type )?\{([^}]*)\} from '[^']*filter\/index\.ts'/m.exec(readFileSync(join(root, file), 'utf8')) ??
        [];
      const names = list.split(',').map((name) => name.trim().replace(/^type /, ''));
      expect(
        names.filter((name) => name !== '' && !ofWebSocket.test(name)),
        file,
      ).toEqual([]);
    }
  });
});

describe('imports', () => {
  // `main` and `program` load the tools by name, when they are asked for.
  const loads = (file: string) => file === 'main.ts' || file.startsWith('program/');

  test.each(files.filter((file) => !loads(file) && file !== face))('of %s go one way', (file) => {
    expect(filesImportedBy(file).filter((to) => !isAllowed(file, to))).toEqual([]);
  });

  test.each(files.filter(loads))('of %s do not load a tool with it', (file) => {
    const text = readFileSync(join(root, file), 'utf8');
    expect(text).not.toMatch(/^import (?!type )[^;]*'[^']*\/tools\//m);
  });

  test.each(['request', 'response'])('of exchange/%s do not reach into the other leg', (leg) => {
    const ofLeg = files.filter((file) => file.startsWith(`filter/exchange/${leg}/`));
    expect(ofLeg).not.toEqual([]);
    const other = leg === 'request' ? /^filter\/exchange\/response\// : /^filter\/exchange\/request\//;
    for (const file of ofLeg) for (const to of filesImportedBy(file)) expect(to, file).not.toMatch(other);
  });

  test.each(pureFiles)('of %s reach nothing outside', (file) => {
    const outside = importsOf(file).filter((name) => !name.startsWith('.'));
    expect(outside.filter((name) => !purityOf(file)?.includes(name))).toEqual([]);
  });
});

/**
 * Who may call the parser of JSON in the service's process, by why what it makes is bounded. Foreign JSON is read by `parseBounded`, which
 * counts values and levels, or stays bytes.
 */
const parsers: Readonly<Record<string, readonly string[]>> = {
  'values and levels are counted first': [
    'filter/exchange/request/request-body.ts',
    'formats/json/exact.ts',
    'formats/json/scan.ts',
  ],
  'as long as an upstream’s answer may be, and written by what takes any depth': [
    'filter/exchange/response/whole-body-reader.ts',
    'formats/json/loose.ts',
    'formats/sse/data.ts',
  ],
  'a string or a number alone': [
    'formats/json/members.ts',
    'tools/inspect/row-words.ts',
    'formats/credentials/redactor.ts',
  ],
  'written by this service, or read before': [
    'filter/translate/chat-to-response/read/extensions.ts',
    'filter/translate/shared/held-bytes.ts',
    'service/server/profile-source.ts',
    'service/telemetry/version.ts',
    'service/websocket/running-response.ts',
  ],
  'a file of the operator’s': ['service/settings/operator-texts.ts'],
};

/** Who may write JSON outside the translation, by what it is. */
const writers: Readonly<Record<string, readonly string[]>> = {
  'at any depth': ['formats/json/loose.ts', 'formats/json/parts.ts'],
  'what parseBounded has read': [
    'service/websocket/client-message.ts',
    'service/websocket/conversations.ts',
    'service/websocket/errors.ts',
    'service/websocket/turn.ts',
  ],
  'a name or a text alone': [
    'service/server/exchanges.ts',
    'service/settings/config.ts',
    'service/websocket/turn-request.ts',
    'formats/credentials/redactor.ts',
  ],
  'the service’s own': [
    'program/program.ts',
    'service/server/admin.ts',
    'service/telemetry/log.ts',
    'service/websocket/handshake.ts',
    'tools/inspect/inspector.ts',
    'tools/inspect/list-events.ts',
    'tools/inspect/record-exchanges.ts',
  ],
  'a file of the operator’s': ['service/settings/operator-texts.ts'],
};

it.each([
  // What a person runs beside the service, or in the browser, may fail for its own input.
  ['parse', parsers, files.filter((file) => !/^tools\/(?:doctor|explain|inspect\/(?:page|view))\//.test(file))],
  ['stringify', writers, files.filter((file) => /^(?:program|service|formats)\/|^tools\/inspect\/[^/]+$/.test(file))],
] as const)('JSON.%s is called by those alone who bound what they give it', (name, known, among) => {
  const call = new RegExp(`^(?! *(?://|\\*|/\\*)).*\\bJSON\\.${name}\\(`, 'm');
  const callers = among.filter((file) => call.test(readFileSync(join(root, file), 'utf8')));
  expect(callers.toSorted()).toEqual(Object.values(known).flat().sort());
});

test('a file’s name says which it is: none occurs twice', () => {
  const names = files.map((file) => basename(file));
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

const sources = globSync(['src/**/*.{ts,tsx}', 'mesh/*.ts'], { cwd: join(root, '..') });

test.each([
  ['types', /^export (?:interface|type|class) (\w+)/gm],
  ['functions', /^export (?:async )?function\*? (\w+)|^export const (\w+)[^=\n]*= (?:async )?\([^\n]*=>/gm],
])('no two exported %s share a name', (_what, exported) => {
  const names = sources.flatMap((file) =>
    [...readFileSync(join(root, '..', file), 'utf8').matchAll(exported)].map(([, one, other]) => one ?? other),
  );
  expect(names.length).toBeGreaterThan(300);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

test('the filter and other pure folders hold no clock and no dice', () => {
  for (const file of pureFiles)
    expect(readFileSync(join(root, file), 'utf8'), file).not.toMatch(
      /Date\.now|new Date\(|Math\.random|performance\.now|setTimeout|setInterval/,
    );
});
