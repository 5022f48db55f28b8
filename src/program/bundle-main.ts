import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { cachedDataVersionTag } from 'node:v8';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import './check-node.ts';

/** A hash of `program.js`, which `scripts/build.ts` inserts. */
declare const buildId: string;

/**
 * Starts the built service (`dist/main.js`, in place of `main.ts`) with V8's code cache of an earlier start, which saves a quarter of the CPU
 * time: it has every function that a start needs. A service without such a cache writes one as soon as it listens.
 */
const folder = dirname(import.meta.filename);
const program = join(folder, 'program.js');
// V8 checks only the length of a source, so the build's hash is in the name.
const cache = join(folder, `program-${buildId}.cache`);
// V8 rejects code that was compiled with other flags or in another Node: two such services would rewrite `cache` in turn. The tag depends on
// the processor too, and compiled code does not, so an image's `cache` serves on any machine.
const own = join(folder, `program-${buildId}-${cachedDataVersionTag()}.cache`);

const checksumBytes = 4;

// The build writes nothing but ASCII: as Latin-1 the source takes half the memory, and is not decoded.
const source = readFileSync(program, 'latin1');
const script = new Script(source, { filename: program, cachedData: cachedData(own) ?? cachedData(cache) });
const module = { exports: {} as typeof import('./program.ts') };
script.runInThisContext().call(module.exports, module.exports, createRequire(program), module, program, folder);
// A command runs little of the service's code, so its cache is not written.
if (script.cachedDataRejected !== false && process.argv.length < 3) void module.exports.started.then(save);

function cachedData(file: string): Buffer | undefined {
  try {
    const bytes = readFileSync(file);
    const data = bytes.subarray(0, -checksumBytes);
    // V8 does not check its data, and damaged data ends the process.
    return crc32(data) === bytes.readUInt32LE(data.length) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the cache atomically, since several processes may write it at once. */
function save(): void {
  const file = existsSync(cache) ? own : cache;
  const unfinished = `${file}.${process.pid}`;
  try {
    const data = script.createCachedData();
    const checksum = Buffer.alloc(checksumBytes);
    checksum.writeUInt32LE(crc32(data));
    writeFileSync(unfinished, Buffer.concat([data, checksum]));
    renameSync(unfinished, file);
  } catch {
    // An image's files are read-only.
    rmSync(unfinished, { force: true });
  }
}
