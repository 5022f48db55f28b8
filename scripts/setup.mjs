/**
 * Runs before `npm start` and `npm test`, with any installed Node (20 or later), so it is plain JavaScript:
 * installs the packages when they are missing or not those of package-lock.json, and makes sure that the pinned Node
 * (npm package `node`), which runs everything else, is really there. A few milliseconds when there is nothing to do.
 */
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Debian 13's; older ones are without security updates, and their npm without what is used here.
if (Number.parseInt(process.versions.node, 10) < 20)
  fail(
    `Node ${process.versions.node} is too old. Install Node 20 or later. It then installs the exact Node that runs everything.`,
  );

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const pinnedNode = join(root, 'node_modules/.bin/node');

if (!packagesAreCurrent()) {
  console.log('Installing npm packages (490 MB in node_modules, most of it for the tests) …');
  // `dev`: the pinned Node is a devDependency, and NODE_ENV=production would leave it out.
  // Without a network npm would wait ten seconds, then a minute, before it says so.
  await npm(['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error', '--fetch-retry-maxtimeout=10000']);
}
if (!pinnedNodeRuns()) await installPinnedNode();

/** True when every package of package-lock.json is installed in the version it names. */
function packagesAreCurrent() {
  const installedFile = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(installedFile)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(readFileSync(installedFile, 'utf8')).packages;
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  );
}

function pinnedNodeRuns() {
  if (!existsSync(pinnedNode)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).devDependencies.node;
  return spawnSync(pinnedNode, ['--version'], { encoding: 'utf8' }).stdout?.trim() === `v${wanted}`;
}

/** npm skips install scripts with `ignore-scripts`, and may do so by default one day: run it ourselves. */
async function installPinnedNode() {
  console.log('Installing the pinned Node …');
  const folder = join(root, 'node_modules/node');
  spawnSync(process.execPath, ['installArchSpecificPackage.js'], { cwd: folder, stdio: 'inherit' });
  if (!existsSync(pinnedNode)) await npm(['rebuild', '--ignore-scripts', '--loglevel=error', 'node']); // links node_modules/.bin/node
  if (!pinnedNodeRuns())
    fail(
      'The Node that runs this project (npm package `node`) could not be installed.\n' +
        'Allow its install script (`npm config get ignore-scripts` should say false) and run `npm ci`.',
    );
}

async function npm(args) {
  // npm sets both variables for its scripts: the npm that was called, and the machine's own Node rather than the pinned
  // one, which `npm ci` is about to delete.
  const { npm_execpath: program, npm_node_execpath: node = process.execPath } = process.env;
  const child = program
    ? spawn(node, [program, ...args], { cwd: root, stdio: 'inherit' })
    : spawn('npm', args, { cwd: root, stdio: 'inherit' });
  const startedAt = Date.now();
  // The variable is for the test, which cannot wait that long.
  const noticeMs = Number(process.env.SETUP_NOTICE_MS ?? 15_000);
  let notices = 0;
  const notice = setInterval(() => {
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    // A slow machine takes a minute; silence after that is more likely a network that is not there.
    notices += 1;
    const why = notices < 6 ? '' : ` Without a network it waits for ${registry()}, and gives up after some minutes.`;
    console.log(`… npm ${args[0]} has run for ${seconds} s.${why}`);
  }, noticeMs);
  const problem = await new Promise((resolve) => {
    child.once('error', (error) => resolve(`: ${error.message}`));
    child.once('close', (status) => resolve(status === 0 ? null : ''));
  });
  clearInterval(notice);
  if (problem === null) return;
  const advice = cacheProblem() ?? 'If it had no connection, run this again once there is a network.';
  fail(`npm ${args[0]} failed${problem}. ${advice}`);
}

/** What to do where npm may not write its cache, whose folder it tells its scripts; null where it may. */
function cacheProblem() {
  const { npm_config_cache: cache } = process.env;
  if (!cache) return null;
  try {
    mkdirSync(cache, { recursive: true });
    accessSync(cache, constants.W_OK);
    return null;
  } catch (error) {
    return `npm may not write its cache (${error.message}): name another folder with npm_config_cache=FOLDER.`;
  }
}

/** Where npm gets packages from; npm tells its scripts. */
function registry() {
  return process.env.npm_config_registry ?? 'its registry';
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
