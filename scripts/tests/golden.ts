/**
 * `npm run golden -- stream-chunks.md:8` runs one golden case: the one that has that line; without a line, all of the file.
 *
 * `npm run golden -- --add FILE [--into stream-chunks.md]` makes a case from what the inspector's “Download JSON” saved, of its
 * answer or with `--request` of its request, and runs it. `--into` appends it to a file of cases.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type ExchangeFile, parseExchangeFile } from '../../src/tools/files/exchange-file.ts';
import { findEndpoint } from '../../src/tools/inspect/exchange-json.ts';
import { goldenFolder, readGoldenCases } from '../../test/support/golden.ts';
import { answerCase, requestCase } from './golden-case.ts';
import { runVitest } from './vitest-report.ts';

const folder = fileURLToPath(goldenFolder);

/** The prefix of a file's name, and what runs its cases. */
const runners = {
  request: ['request', 'explain'],
  stream: ['stream', 'explain'],
  completion: ['completion', 'completion-as-stream'],
  errors: ['errors'],
} as const;
const kinds = Object.keys(runners) as (keyof typeof runners)[];

/** Wrong usage: what is wrong. */
class WrongUsage extends Error {}

if (import.meta.main)
  try {
    const { file, where } = casesOf(process.argv.slice(2));
    await runCases(file, where);
  } catch (thrown) {
    if (!(thrown instanceof WrongUsage)) throw thrown;
    console.error(thrown.message);
    process.exitCode = 2;
  }

/**
 * The cases that are named, after `--add` the one that it has made: their file, and how what runs them names the one, or all of
 * them (`stream-chunks.md:`). Throws `WrongUsage` where they cannot be found or made.
 */
export function casesOf(words: readonly string[]): { readonly file: string; readonly where: string } {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: { add: { type: 'string' }, into: { type: 'string' }, request: { type: 'boolean', default: false } },
  });
  const named = values.add === undefined ? positionals[0] : addCase(values.add, values.into, values.request);
  if (named === undefined) fail('Which case? npm run golden -- stream-chunks.md:8');
  const [, file = '', line] = /^(?:.*\/)?([^/:]+\.md)(?::(\d+))?$/.exec(named) ?? [];
  if (!existsSync(join(folder, file)) || file === '') fail(`There is no test/golden/${file === '' ? named : file}.`);
  return { file, where: line === undefined ? `${file}:` : whereOf(file, Number(line)) };
}

async function runCases(file: string, where: string): Promise<void> {
  // Each case's name begins with where it is: `stream-chunks.md:8 Plain text`.
  const pattern = `${where.replaceAll('.', '\\.')}${where.endsWith(':') ? '' : '[ :]'}`;
  const tests = runners[kindOf(file)].map((name) => `test/golden/${name}.test.ts`);
  const { passed, failed } = await runVitest(['unit'], [...tests, '-t', pattern]);
  console.log(`${where}: ${passed} passed, ${failed} failed`);
  if (failed > 0) console.log(`The case: test/golden/${where}`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}

/** The case that has that line, as the runner names it. */
function whereOf(file: string, line: number): string {
  const cases = readGoldenCases(new URL(file, goldenFolder));
  const found = cases.findLast(({ where }) => Number(where.split(':')[1]) <= line);
  if (found === undefined) fail(`No case of ${file} begins at or before line ${line}.`);
  return found.where;
}

function kindOf(file: string): keyof typeof runners {
  const kind = kinds.find((one) => file.startsWith(one));
  if (kind === undefined) fail(`${file}: a file of cases is called ${kinds.map((one) => `${one}-….md`).join(', ')}.`);
  return kind;
}

/** Writes the case into test/golden; returns where it is. */
function addCase(download: string, given: string | undefined, ofRequest: boolean): string {
  if (!existsSync(download)) fail(`There is no file ${download}.`);
  const { name, markdown } = caseOfExchange(download, ofRequest);
  const kind = kindOf(name);
  const into = given ?? (kind === 'errors' ? 'errors.md' : undefined); // all errors are in one file
  if (into === undefined) {
    const target = join(folder, name);
    if (existsSync(target)) fail(`test/golden/${name} is there already: use --into ${name}.`);
    writeFileSync(target, markdown);
    return `${name}:${lineOfLastCase(target)}`;
  }
  const target = join(folder, basename(into));
  if (!existsSync(target)) fail(`There is no test/golden/${basename(into)}.`);
  if (kindOf(basename(into)) !== kind)
    fail(`This is a case for a file ${kind}-….md, and ${basename(into)} is another kind.`);
  appendFileSync(target, `\n${markdown.slice(markdown.indexOf('## ')).trimEnd()}\n`);
  return `${basename(into)}:${lineOfLastCase(target)}`;
}

/** A case from the inspector's “Download JSON”. */
function caseOfExchange(download: string, ofRequest: boolean) {
  let exchange: ExchangeFile;
  try {
    exchange = parseExchangeFile(JSON.parse(readFileSync(download, 'utf8')));
  } catch (thrown) {
    fail(`${download} is not what “Download JSON” writes: ${thrown instanceof Error ? thrown.message : thrown}`);
  }
  const title = `Saved from ${basename(download, '.json')}`;
  const endpoint = findEndpoint(exchange.client_request.method, exchange.client_request.path);
  const made = ofRequest ? requestCase(exchange, endpoint, title) : answerCase(exchange, endpoint, title);
  if (made === null)
    fail(
      `No case can be made of the ${ofRequest ? 'request' : 'answer'} in ${download}: it is not whole, or was not translated.`,
    );
  return made;
}

function lineOfLastCase(file: string): number {
  return (
    readFileSync(file, 'utf8')
      .split('\n')
      .findLastIndex((line) => line.startsWith('## ')) + 1
  );
}

function fail(message: string): never {
  throw new WrongUsage(message);
}
