/**
 * What a second run of the same tag makes of a first one that failed: the steps of release.yml's job `publish`, as they stand there,
 * with stand-ins for the programs that reach a registry. Each call of such a program fails once, before it took effect and after
 * (the answer was lost). The second run is of the failed jobs, or of all jobs, which builds another image. In the end everything
 * must be public once, signed, and of one image.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Step {
  readonly id?: string;
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Job {
  readonly outputs?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

/** A text of the workflow with the values in the place of its expressions. Throws for one that nothing gave. */
export function evaluate(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\$\{\{ *([\w.-]+) *\}\}/g, (_, name: string) => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`Nothing before this step gives ${name}.`);
    return value;
  });
}

/**
 * Functions of the shell in the place of npm, docker, cosign, helm and gh: what is public is files of `$STATE`. `attest` is in the
 * place of an action. They start nothing, since some hundred runs are tried.
 */
const standIns = `
stand_in() {
  local calls program=$1 file=$STATE/public/$1
  read -r calls <"$STATE/count"
  echo $((calls += 1)) >"$STATE/count"
  echo "$*" >>"$STATE/calls"
  [ "\${FAIL:-}" != "before $calls" ] || return 1
  case "$1 $2 $3" in
    'npm view '*) [ -e "$file" ] || return 1; echo "$(<"$file")" ;;
    'npm publish '*) [ ! -e "$file" ] || return 1; echo "$VERSION" >"$file" ;;
    'docker buildx imagetools')
      case $4 in
        inspect) file="$STATE/public/image \${5//\\//_}"; [ -e "$file" ] || return 1; echo "$(<"$file")" ;;
        create) echo "\${7#*@}" >"$STATE/public/image \${6//\\//_}" ;;
      esac ;;
    'helm registry login') ;;
    'helm pull '*) [ -e "$file" ] || return 1; echo "Digest: chart-of-$(<"$file")" ;;
    'helm push '*) [ ! -e "$file" ] || : >"$STATE/public/wrong"; echo "$(<"$3")" >"$file"; echo "Digest: chart-of-$(<"$file")" ;;
    'cosign sign '*) : >"$STATE/public/signed \${4//\\//_}" ;;
    'attest '*) : >"$STATE/public/attested \${2//\\//_}" ;;
    'gh release view') [ -e "$file" ] || return 1 ;;
    'gh release create') [ ! -e "$file" ] || return 1; echo draft >"$file" ;;
    'gh release upload') [ -e "$file" ] || return 1; : >"$STATE/public/uploaded" ;;
    'gh release edit') [ -e "$STATE/public/uploaded" ] || return 1; echo released >"$file" ;;
    *) echo "no stand-in for $*" >&2; return 2 ;;
  esac
  [ "\${FAIL:-}" != "after $calls" ]
}
for program in npm docker cosign helm gh attest; do eval "$program() { stand_in $program \\"\\$@\\"; }"; done
`;

/**
 * Lets every call fail once, in `folder`. What was tried, as a text; throws with each case in which the second run did not complete
 * the first.
 */
export function continueAfterFailures(
  jobs: Readonly<Record<'build' | 'publish', Job>>,
  facts: ReadonlyMap<string, string>,
  folder: string,
): string {
  mkdirSync(join(folder, 'release'), { recursive: true });
  const inspectPublic = jobs.build.steps.find(({ id }) => id === 'public');
  const publishing = jobs.publish.steps.filter(({ name }) => name?.startsWith('Publish: '));
  if (inspectPublic === undefined || publishing.length === 0) throw new Error('release.yml publishes nothing.');
  const state = join(folder, 'state');
  const values = new Map(facts);

  /** Runs these steps until one fails, whose name it gives; null when all passed. */
  const run = (steps: readonly Step[], env: Readonly<Record<string, string>>, fail: string) => {
    const all = Object.entries(Object.assign({}, env, ...steps.map((step) => step.env ?? {})) as typeof env);
    const scripts = steps.map(
      ({ name, run: script = 'attest "$IMAGE@$DIGEST"' }) =>
        `( set -e\n${script}\n)\n[ $? = 0 ] || { echo '=${name}' >&2; exit 1; }`,
    );
    const { status, stderr } = spawnSync('bash', ['-c', [standIns, ...scripts].join('\n')], {
      cwd: folder,
      encoding: 'utf8',
      env: {
        PATH: process.env['PATH'],
        STATE: state,
        FAIL: fail,
        GITHUB_OUTPUT: join(folder, 'output'),
        GITHUB_REF_NAME: 'v0.0.0',
        GITHUB_REPOSITORY: 'Example/Responses-ExtProc',
        GITHUB_ACTOR: 'rehearsal',
        ...Object.fromEntries(all.map(([name, text]) => [name, evaluate(text, values)])),
      },
    });
    if (stderr.includes('no stand-in')) throw new Error(stderr);
    return status === 0 ? null : (/^=(.*)$/m.exec(stderr)?.[1] ?? stderr);
  };
  /** What the job `build` gives: the digest that is public already, or a new one, and a chart that names it. */
  const build = (digest: string) => {
    writeFileSync(join(folder, 'output'), '');
    run([inspectPublic], {}, '');
    const known = /^digest=(.*)$/m.exec(readFileSync(join(folder, 'output'), 'utf8'))?.[1] ?? '';
    const built = known === '' ? digest : known;
    values.set('needs.build.outputs.digest', built);
    writeFileSync(join(folder, 'release/chart.tgz'), built);
  };
  const publish = (fail: string) => run(publishing, jobs.publish.env ?? {}, fail);
  const start = () => {
    rmSync(state, { recursive: true, force: true });
    mkdirSync(join(state, 'public'), { recursive: true });
    writeFileSync(join(state, 'calls'), '');
    writeFileSync(join(state, 'count'), '0\n');
  };
  const read = (name: string) => readFileSync(join(state, 'public', name), 'utf8').trim();

  /** What is wrong with what is public; null if nothing is. */
  const findWrong = () => {
    const names = readdirSync(join(state, 'public'));
    const images = new Set(names.filter((name) => name.startsWith('image ')).map(read));
    const [digest = ''] = images;
    const chart = `chart-of-${digest}`;
    const wanted = (values.get('needs.version.outputs.image_tags') ?? '').split(',').length;
    if (names.includes('wrong')) return 'a chart was pushed twice';
    if (images.size !== 1) return `${images.size} images of one version`;
    if (names.filter((name) => name.startsWith('image ')).length !== wanted) return 'a tag of the image is missing';
    for (const name of ['npm', 'helm', 'gh', 'uploaded']) if (!names.includes(name)) return `${name} is missing`;
    if (read('helm') !== digest) return 'the chart names another image';
    if (read('gh') !== 'released') return 'the release is a draft';
    for (const [what, of] of [
      ['signed', digest],
      ['attested', digest],
      ['signed', chart],
    ] as const)
      if (!names.some((name) => name.startsWith(`${what} `) && name.endsWith(`@${of}`))) return `${of} is not ${what}`;
    return null;
  };

  start();
  build('sha256:first');
  if (publish('') !== null || findWrong() !== null) throw new Error(`Without any failure: ${findWrong()}`);
  const calls = readFileSync(join(state, 'calls'), 'utf8').trim().split('\n');
  const wrong: string[] = [];
  const failedSteps = new Map<string, number>();
  // The first call is the question of the job `build`, which has no effect.
  for (let call = 2; call <= calls.length; call += 1)
    for (const when of ['before', 'after'])
      for (const again of ['failed jobs', 'all jobs']) {
        start();
        build('sha256:first');
        const failed = publish(`${when} ${call}`);
        if (failed !== null) {
          failedSteps.set(failed, (failedSteps.get(failed) ?? 0) + 1);
          if (failed === 'Publish: npm' && when === 'before' && existsSync(join(state, 'public/npm')))
            wrong.push('npm failed and is public');
          if (again === 'all jobs') build('sha256:second');
          const second = publish('');
          if (second !== null) wrong.push(`${when} ${calls[call - 1]}, ${again} again: ${second} fails`);
        }
        const left = findWrong();
        if (left !== null) wrong.push(`${when} ${calls[call - 1]}, ${again} again: ${left}`);
      }
  const never = publishing.flatMap(({ name = '' }) => (failedSteps.has(name) ? [] : [`${name} never failed`]));
  if (wrong.length + never.length > 0) throw new Error([...wrong, ...never].join('\n'));
  const counts = [...failedSteps].map(([name, count]) => `${name.replace('Publish: ', '')} ${count}`);
  return `${(calls.length - 1) * 4} second runs, after failures of ${counts.join(', ')}`;
}
