import { basename } from 'node:path';

/** The commands of this program as its user types them, for messages that name them. */
export interface CommandNames {
  /** The local mesh: `npm start`, `responses-extproc try` or `npx responses-extproc try`. */
  readonly plain: string;
  /** The command as it is typed when options follow it: npm wants `--` before them. */
  readonly beforeOptions: string;
  /** The command that starts the service alone. */
  readonly service: string;
  /** The command for Envoy alone, where Envoy's options follow. */
  readonly envoy: string;
}

/** Tells the package for npm, whose program has the package's name, from a clone. */
export function chooseCommandNames(program: string, environment: NodeJS.ProcessEnv): CommandNames {
  if (!/^responses-extproc(?:\.mjs)?$/.test(basename(program)))
    return {
      plain: 'npm start',
      beforeOptions: 'npm start --',
      service: 'node dist/main.js',
      envoy: 'npm run envoy --',
    };
  const service = `${environment['npm_lifecycle_event'] === 'npx' ? 'npx ' : ''}responses-extproc`;
  return { plain: `${service} try`, beforeOptions: `${service} try`, service, envoy: `${service} envoy` };
}

export const thisCommand: CommandNames = chooseCommandNames(process.argv[1] ?? '', process.env);
