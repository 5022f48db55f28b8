import { ApiError, type BodyModes, Exchange, type ExchangeOptions, type Profile } from '../../filter/index.ts';
import type { Admission } from '../memory/overload.ts';
import type { Config } from '../settings/config.ts';
import { valuesOf } from '../settings/setting.ts';
import { settings } from '../settings/settings-table.ts';
import type { CallMetadata } from '../telemetry/observer.ts';
import { newId } from './ids.ts';
import { type OperatorFiles, readOperatorFiles } from './operator-files.ts';
import type { OpenExchange } from './process.ts';
import type { ProfileSource } from './profile-source.ts';

/**
 * The key by which a route chooses a profile, in the call's initial metadata, which Envoy writes from its own configuration
 * (`grpc_service.initial_metadata`). Nothing that a client sends ends up there.
 */
const profileKey = 'x-upstream-profile';
const pathKey = 'x-upstream-path';

const systemClock: ExchangeOptions['clock'] = { now: () => Math.floor(Date.now() / 1000), newId };

/**
 * The factory for a configuration. `onMisconfigured` is called for routes that name an unknown profile or an invalid
 * path; `createExchange` replaces the class of its exchanges; `files` are the configuration's, read already. Throws
 * `ConfigError` for files that cannot be used.
 */
export function createExchangeFactory(
  config: Config,
  profiles: Pick<ProfileSource, 'profileOf' | 'names'>,
  onMisconfigured: (problem: string) => void,
  {
    clock = systemClock,
    createExchange = (options) => new Exchange(options),
    files = readOperatorFiles(config),
  }: {
    readonly clock?: ExchangeOptions['clock'] | undefined;
    readonly createExchange?: ((options: ExchangeOptions) => Exchange) | undefined;
    readonly files?: OperatorFiles | undefined;
  } = {},
) {
  const ofExchange = valuesOf(settings.exchange, config, files);
  const ofTranslation = valuesOf(settings.translation, config, files);

  function configuredProfile(): Profile {
    const profile = profiles.profileOf(config.UPSTREAM_PROFILE);
    if (profile === undefined) throw new Error(`There is no profile ${config.UPSTREAM_PROFILE}.`);
    return profile;
  }

  configuredProfile();
  return {
    /**
     * `metadata` is the call's; `admission` is its admission by the overload guard, the error that refuses it, or null
     * without a guard.
     */
    open(metadata: CallMetadata, given: BodyModes | null, admission: Admission | ApiError | null): OpenExchange {
      const [admitted, overload] = admission instanceof ApiError ? [null, admission] : [admission, null];
      const name = textOf(metadata, profileKey);
      const path = textOf(metadata, pathKey);
      const profile = name === null ? configuredProfile() : profiles.profileOf(name);
      const problem =
        profile === undefined ? unknown(profileKey, name, `one of ${profiles.names().join(', ')}`) : problemOf(path);
      if (problem !== null) onMisconfigured(problem);
      const modes = given ?? ofExchange.modes;
      // A route that names a profile uses that profile's path, not UPSTREAM_PATH, which belongs to the configured one.
      const configuredPath = name === null ? ofExchange.upstreamPath : null;
      let exchange: Exchange;
      try {
        exchange = createExchange({
          ...ofExchange,
          modes,
          settings: { ...ofTranslation, profile: profile ?? configuredProfile() },
          upstreamPath: path ?? configuredPath,
          // The client gets none of the operator's names; they are in the log.
          refusal: problem === null ? overload : ApiError.misconfigured(misconfigured),
          hold: (bytes, body) => admitted?.hold(bytes, body) ?? null,
          clock,
        });
      } catch (thrown) {
        admitted?.release();
        throw thrown;
      }
      return { exchange, modes, admission: admitted };
    },
  };
}

function textOf(metadata: CallMetadata, key: string): string | null {
  const value = metadata[key];
  return value === undefined || value.length === 0 ? null : String(value);
}

function problemOf(path: string | null): string | null {
  if (path === null || /^\/[\x21-\x7e]*$/.test(path)) return null;
  return unknown(pathKey, path, 'a path that starts with /');
}

function unknown(key: string, value: string | null, known: string): string {
  return `${key} is ${JSON.stringify(value)}; it must be ${known}`;
}

const misconfigured = 'The route is not configured correctly. The log of responses-extproc has the reason.';
