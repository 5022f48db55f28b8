import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Tools that scripts/containers/kubernetes-tools.sh builds. */
export type Tool =
  | 'helm'
  | 'helm3'
  | 'render'
  | 'egctl'
  | 'kubectl-validate'
  | 'actionlint'
  | 'etcd'
  | 'kube-apiserver'
  | 'epp'
  | 'bbr'
  | 'istio-translate';

const built = new Set<Tool>();

/** Path of a tool, built first if necessary, which takes minutes. Throws the build's output when it fails. */
export function toolPath(name: Tool): string {
  const path = join(root, '.cache/kubernetes/bin', name);
  if (built.has(name)) return path;
  const build = spawnSync(join(root, 'scripts/containers/kubernetes-tools.sh'), [name], { encoding: 'utf8' });
  if (build.status !== 0) throw new Error(`${name} could not be built:\n${build.error?.message ?? build.stderr}`);
  built.add(name);
  return path;
}

/** Runs a tool and returns its standard output. Throws all of its output when it fails. */
export function runTool(
  name: Tool,
  args: readonly string[],
  { input = '', environment = {} }: { input?: string; environment?: Readonly<Record<string, string>> } = {},
): string {
  const env = { ...process.env, ...environment };
  const { status, stdout, stderr, error } = spawnSync(toolPath(name), args, {
    ...{ encoding: 'utf8', input, env },
    maxBuffer: 2 ** 28,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${name} ${args.join(' ')}: exit code ${status}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Where Go keeps the sources of a module that the one in `from` needs. Throws what `go` says. */
export function moduleFolder(from: string, module: string): string {
  return runGo(from, ['list', '-m', '-f', '{{.Dir}}', module]).trim();
}

/** Runs `go` in a folder and returns its standard output. Throws all of its output when it fails. */
export function runGo(cwd: string, args: readonly string[]): string {
  const installed = join(root, '.cache/go/go/bin'); // by scripts/containers/kubernetes-tools.sh, where the machine has none
  const env = { ...process.env, PATH: `${process.env['PATH']}:${installed}` };
  const { status, stdout, stderr, error } = spawnSync('go', args, { cwd, env, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`go ${args.join(' ')}:\n${stdout}${stderr}`);
  return stdout;
}
