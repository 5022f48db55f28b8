import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

/**
 * The floors and their folders, each with the folders of its own floor that it may use: folders above it alone, so that data goes one
 * way. Beyond that, each floor may use those above it here.
 */
const floors: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  formats: {
    bytes: [],
    credentials: [],
    json: [],
  },
  filter: {
    'wire/schema': [],
    'wire/sse': ['wire/schema'],
    machine: [],
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
      'machine',
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
    program: ['memory', 'server', 'settings', 'telemetry', 'websocket'],
  },
  tools: {
    cli: [],
    files: [],
    redact: [],
    explain: ['cli', 'files', 'redact'],
    // Reads what explain writes, by its types.
    inspect: ['explain', 'files', 'redact'],
    doctor: ['cli'],
  },
};

/** What a folder of a higher floor may not use of a lower one. */
const closed: Readonly<Record<string, RegExp>> = {
  'service/websocket': /^filter\/(exchange|translate|extproc|upstream)\b/,
};

/** Rooms without sockets, clock, randomness or environment, all of the filter among them: the packages and built-ins they may use. */
const pure: Readonly<Record<string, readonly string[]>> = {
  'formats/bytes': [],
  'formats/credentials': [],
  'formats/json': [],
  'filter/wire/schema': ['zod/mini'],
  // The global `Buffer` is looked up anew each time it is used.
  'filter/wire/sse': ['node:buffer'],
  'filter/machine': [],
  'filter/upstream': ['re2js', 'yaml', 'zod/mini'],
  // Ids that must come out the same for the same request are hashed; arguments are compared by value.
  'filter/translate': ['node:crypto', 'node:util', 'zod/mini'],
  // A session is recognised by a keyed hash.
  'filter/exchange': ['minizlib', 'node:buffer', 'node:crypto', 'node:zlib'],
  // Of node:http2 the type of its headers alone.
  'filter/extproc': ['node:buffer', 'node:http2'],
  'service/settings': [],
  'tools/files': ['node:buffer', 'zod/mini'],
  'tools/redact': [],
};

const root = fileURLToPath(new URL('../../src', import.meta.url));
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
const pureFiles = files.filter((file) => purityOf(file) !== undefined);

/** The floor of a file, and its folder there: of the translation and of formats the innermost. */
function placeOf(file: string): readonly [floor: string, folder: string] {
  const [, floor = '', folder = ''] = /^(\w+)\/(translate(?:\/[\w-]+)*|wire\/\w+|\w+)\//.exec(file) ?? [];
  return [floor, folder];
}

/** The row of `pure` for a file; undefined for a file that need not be pure. */
function purityOf(file: string): readonly string[] | undefined {
  return Object.entries(pure).find(([folder]) => file.startsWith(`${folder}/`))?.[1];
}

/** What a file imports, lazily too. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/(?:^import [^;']*|\b(?:import|require)\()'([^']+)'/gm)].map(([, name = '']) => name);
}

function filesImportedBy(file: string): string[] {
  const names = importsOf(file).filter((name) => name.startsWith('.'));
  return names.map((name) => relative(root, resolve(root, dirname(file), name)));
}

/** May the file at `from` import the one at `to`? */
function isAllowed(from: string, to: string): boolean {
  const [floor, folder] = placeOf(from);
  const [otherFloor, otherFolder] = placeOf(to);
  if (closed[`${floor}/${folder}`]?.test(to)) return false;
  if (floor !== otherFloor) return Object.keys(floors).indexOf(otherFloor) < Object.keys(floors).indexOf(floor);
  return folder === otherFolder || floors[floor]?.[folder]?.includes(otherFolder) === true;
}

test('every folder of the filter is pure', () => {
  for (const floor of ['formats', 'filter'])
    for (const folder of Object.keys(floors[floor] ?? {}))
      expect(purityOf(`${floor}/${folder}/file.ts`), folder).toBeDefined();
});

test('the floors and folders are all here, each folder below those that it uses', () => {
  const inside = files.filter((file) => file.includes('/'));
  for (const [floor, folders] of Object.entries(floors)) {
    const names = Object.keys(folders);
    const found = inside.filter((file) => file.startsWith(`${floor}/`)).map((file) => placeOf(file)[1]);
    expect(names.toSorted(), floor).toEqual([...new Set(found)].sort());
    for (const [place, name] of names.entries())
      expect(names.slice(0, place), name).toEqual(expect.arrayContaining([...(folders[name] ?? [])]));
  }
  expect(Object.keys(floors).sort()).toEqual([...new Set(inside.map((file) => placeOf(file)[0]))].sort());
});

describe('imports', () => {
  // `main` and `program` load the tools by name, when they are asked for.
  const loads = (file: string) => file === 'main.ts' || file.startsWith('service/program/');

  test.each(files.filter((file) => !loads(file)))('of %s go one way', (file) => {
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

test('a file’s name says which it is: none occurs twice', () => {
  const names = files.map((file) => basename(file));
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

test('only the programs read the environment, and workers the number they were given', () => {
  const readers = files.filter((file) => /\bprocess\.(env|argv)\b/.test(readFileSync(join(root, file), 'utf8')));
  expect(readers.filter((file) => file.includes('/') && !file.startsWith('service/program/'))).toEqual([
    'service/server/workers.ts',
  ]);
});

test('the filter and other pure folders hold no clock and no dice', () => {
  for (const file of pureFiles)
    expect(readFileSync(join(root, file), 'utf8'), file).not.toMatch(
      /Date\.now|new Date\(|Math\.random|performance\.now|setTimeout|setInterval/,
    );
});
