import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { cachedDataVersionTag } from 'node:v8';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import './check-node.ts';

/** A hash of `program.js`, inserted by `scripts/build.ts`. */
declare const buildId: string;

/**
 * The start of the built service (`dist/main.js`, in place of `main.ts`): runs `program.js` with V8's code cache of an
 * earlier start. Node's own compile cache has only what is compiled before a script runs; this has every function that
 * a start needs, which is a quarter of its CPU time. A service that found no cache, or one that this V8 rejects, writes
 * it as soon as it listens, if it may write here: later V8 drops what only a start runs.
 */
const folder = dirname(import.meta.filename);
const program = join(folder, 'program.js');
// V8 checks only the length of a source; the build's hash tells two of the same length apart.
const cache = join(folder, `program-${buildId}.cache`);
// V8 rejects what it compiled under other flags, or in another Node: two services that took turns would write `cache` anew at every
// start. The tag depends on the processor too, which what is compiled does not: an image's `cache` is taken on any machine.
const own = join(folder, `program-${buildId}-${cachedDataVersionTag()}.cache`);

/** The file ends with a checksum of what is before it. */
const checksumBytes = 4;

// As Latin-1, since the build writes nothing but ASCII: half the memory, and nothing to decode.
const source = readFileSync(program, 'latin1');
const script = new Script(source, { filename: program, cachedData: cachedData(own) ?? cachedData(cache) });
const module = { exports: {} as typeof import('./program.ts') };
script.runInThisContext().call(module.exports, module.exports, createRequire(program), module, program, folder);
// Other commands run little of a service's code.
if (script.cachedDataRejected !== false && process.argv.length < 3) void module.exports.started.then(save);

function cachedData(file: string): Buffer | undefined {
  try {
    const bytes = readFileSync(file);
    const data = bytes.subarray(0, -checksumBytes);
    // V8 takes damaged data as it is, and dies of it.
    return crc32(data) === bytes.readUInt32LE(data.length) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Atomically: several processes may write it at once. */
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
    // Not writable here: the image's files are read-only.
    rmSync(unfinished, { force: true });
  }
}
