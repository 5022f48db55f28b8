import { randomUUID } from 'node:crypto';
import { ApiError, type BodyModes, Exchange, type ExchangeOptions, type Profile } from '../../filter/index.ts';
import type { Admission } from '../memory/overload.ts';
import type { Config } from '../settings/config.ts';
import { valuesOf } from '../settings/setting.ts';
import { settings } from '../settings/settings-table.ts';
import type { CallMetadata } from '../telemetry/observer.ts';
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
  const { maxResponseBytes, maxSseEventBytes } = ofExchange.bodyLimits;
  // A small heap lowers the first alone (`fitToMemory`).
  const bodyLimits = { ...ofExchange.bodyLimits, maxSseEventBytes: Math.min(maxSseEventBytes, maxResponseBytes) };
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
          bodyLimits,
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

/**
 * Ids with OpenAI's prefixes: `resp_` and 32 hexadecimal digits. The first half counts up, so that the items of a response
 * sort as they were made (haystack orders streamed calls by item id); the other half is random.
 */
export function newId(prefix: string): string {
  // Node keeps random bytes for these: the system call costs more than everything else here.
  const random = randomUUID();
  return `${prefix}_${nextInOrder()}${random.slice(0, 8)}${random.slice(-8)}`;
}

/** Ids of one millisecond. */
const maxCount = 0xffff;
let time = 0;
let count = 0;
let timeDigits = '';

/**
 * Twelve digits of the time in milliseconds and four of a counter. Setting the clock back does not change the order.
 */
function nextInOrder(): string {
  const now = Date.now();
  if (now > time || count === maxCount) {
    time = Math.max(now, time + 1);
    count = 0;
    timeDigits = time.toString(16).padStart(12, '0');
  } else count += 1;
  return timeDigits + count.toString(16).padStart(4, '0');
}
