import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

/** Which rooms a room may use, beside itself: rooms above it alone. Data goes one way; what is pure stays so. */
const uses: Readonly<Record<string, readonly string[]>> = {
  json: [],
  machine: [],
  memory: [],
  redact: [],
  schema: [],
  upstream: [],
  sse: ['schema'],
  settings: ['redact', 'upstream'],
  translate: ['json', 'memory', 'redact', 'schema', 'settings', 'upstream'],
  exchange: ['json', 'machine', 'memory', 'schema', 'settings', 'sse', 'translate', 'upstream'],
  extproc: ['exchange'],
  // A client of the proxy: what becomes of a turn is the exchange's business.
  websocket: ['json', 'machine', 'schema', 'sse'],
  telemetry: ['exchange', 'extproc', 'schema', 'settings', 'upstream', 'websocket'],
  server: ['exchange', 'extproc', 'memory', 'schema', 'settings', 'telemetry', 'translate', 'upstream'],
  // The service loads it where it is on, and nothing of the service knows it.
  inspect: ['exchange', 'json', 'redact', 'schema', 'server', 'telemetry'],
  // Nothing uses the rooms of subcommands but the program that loads them.
  cli: [],
  explain: ['cli', 'exchange', 'json', 'redact', 'schema', 'server', 'settings', 'sse', 'translate', 'upstream'],
  doctor: ['cli', 'exchange', 'json', 'schema', 'settings', 'sse', 'translate', 'upstream'],
  program: [
    ...['cli', 'doctor', 'explain', 'inspect', 'memory', 'server', 'settings', 'telemetry', 'translate', 'websocket'],
  ],
  main: ['program'],
};

/** Rooms without sockets, clock, randomness or environment: these packages and built-ins are all they may use. */
const pure: Readonly<Record<string, readonly string[]>> = {
  json: [],
  machine: [],
  // The collector is asked for by way of V8.
  memory: ['node:v8', 'node:vm'],
  redact: [],
  schema: ['zod'],
  upstream: ['re2js', 'yaml', 'zod'],
  settings: [],
  // The global `Buffer` is looked up anew each time it is used.
  sse: ['node:buffer'],
  // Ids that must come out the same for the same request are hashed.
  translate: ['node:crypto', 'zod'],
  // A session is recognised by a keyed hash.
  exchange: ['minizlib', 'node:buffer', 'node:crypto', 'node:zlib'],
  // Of node:http2 the type of its headers alone.
  extproc: ['@grpc/proto-loader', 'node:buffer', 'node:http2', 'node:module', 'node:url'],
};

const root = fileURLToPath(new URL('../../src', import.meta.url));
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));

function roomOf(file: string): string {
  return (file.split('/')[0] ?? '').replace(/\.tsx?$/, '');
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/(?:^import [^;']*|\bimport\()'([^']+)'/gm)].map(([, name = '']) => name);
}

test('the rooms are all here, each below those that it uses', () => {
  const rooms = Object.keys(uses);
  expect(rooms.toSorted()).toEqual([...new Set(files.map(roomOf))].sort());
  for (const [place, room] of rooms.entries())
    expect(rooms.slice(0, place), room).toEqual(expect.arrayContaining([...(uses[room] ?? [])]));
});

describe('imports', () => {
  test.each(files)('of %s go one way', (file) => {
    const room = roomOf(file);
    const allowed = [room, ...(uses[room] ?? [])];
    const wrong = importsOf(file)
      .filter((name) => name.startsWith('.'))
      .filter((name) => !allowed.includes(roomOf(relative(root, resolve(root, dirname(file), name)))));
    expect(wrong).toEqual([]);
  });

  test.each(['request', 'response'])('of exchange/%s do not reach into the other leg', (leg) => {
    const ofLeg = files.filter((file) => file.startsWith(`exchange/${leg}/`));
    expect(ofLeg).not.toEqual([]);
    for (const file of ofLeg)
      for (const name of importsOf(file).filter((text) => text.startsWith('.')))
        expect(relative(root, resolve(root, dirname(file), name)), file).not.toMatch(
          leg === 'request' ? /^exchange\/response\// : /^exchange\/request\//,
        );
  });

  test.each(files.filter((file) => roomOf(file) in pure))('of %s reach nothing outside', (file) => {
    const outside = importsOf(file).filter((name) => !name.startsWith('.'));
    expect(outside.filter((name) => !pure[roomOf(file)]?.includes(name))).toEqual([]);
  });
});

test('only the programs read the environment, and workers the number they were given', () => {
  const readers = files.filter((file) => /\bprocess\.(env|argv)\b/.test(readFileSync(join(root, file), 'utf8')));
  expect(readers.filter((file) => file.includes('/') && !file.startsWith('program/'))).toEqual(['server/workers.ts']);
});

test('pure rooms hold no clock and no dice', () => {
  for (const file of files.filter((name) => roomOf(name) in pure))
    expect(readFileSync(join(root, file), 'utf8'), file).not.toMatch(
      /Date\.now|new Date\(|Math\.random|performance\.now|setTimeout|setInterval/,
    );
});
