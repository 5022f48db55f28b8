import { randomUUID } from 'node:crypto';
import { ApiError, type BodyModes, Exchange, type ExchangeOptions, type Profile } from '../../filter/index.ts';
import type { Admission } from '../memory/overload.ts';
import type { Config } from '../settings/config.ts';
import { readValues } from '../settings/setting.ts';
import { settings } from '../settings/settings-table.ts';
import type { CallMetadata } from '../telemetry/observer.ts';
import { type OperatorFiles, readOperatorFiles } from './operator-files.ts';
import type { OpenExchange } from './process.ts';
import type { ProfileSource } from './profile-source.ts';

/**
 * Keys with which a route chooses a profile and a path, in the call's initial metadata. Envoy writes it from its own configuration
 * (`grpc_service.initial_metadata`), and nothing that a client sends ends up there.
 */
const profileKey = 'x-upstream-profile';
const pathKey = 'x-upstream-path';

const systemClock: ExchangeOptions['clock'] = { now: () => Math.floor(Date.now() / 1000), newId };

/**
 * The factory for a configuration. `onMisconfigured` is called for routes that name an unknown profile or an invalid path;
 * `createExchange` replaces `new Exchange`. Throws `ConfigError` for files of the configuration that cannot be used.
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
  const ofExchange = readValues(settings.exchange, config, files);
  const { maxResponseBytes, maxSseEventBytes } = ofExchange.bodyLimits;
  // A small heap lowers `maxResponseBytes` alone (`fitToMemory`).
  const bodyLimits = { ...ofExchange.bodyLimits, maxSseEventBytes: Math.min(maxSseEventBytes, maxResponseBytes) };
  const ofTranslation = readValues(settings.translation, config, files);

  function configuredProfile(): Profile {
    const profile = profiles.profileOf(config.UPSTREAM_PROFILE);
    if (profile === undefined) throw new Error(`There is no profile ${config.UPSTREAM_PROFILE}.`);
    return profile;
  }

  configuredProfile();
  return {
    /** Opens the exchange of a call. `admission` is the guard's, or its error; null without a guard. */
    open(metadata: CallMetadata, given: BodyModes | null, admission: Admission | ApiError | null): OpenExchange {
      const [admitted, overload] = admission instanceof ApiError ? [null, admission] : [admission, null];
      const name = readKey(metadata, profileKey);
      const path = readKey(metadata, pathKey);
      const profile = name === null ? configuredProfile() : profiles.profileOf(name);
      const problem =
        profile === undefined
          ? describeUnknown(profileKey, name, `one of ${profiles.names().join(', ')}`)
          : findPathProblem(path);
      if (problem !== null) onMisconfigured(problem);
      const modes = given ?? ofExchange.modes;
      // UPSTREAM_PATH belongs to the configured profile: a route that names another uses that profile's path.
      const configuredPath = name === null ? ofExchange.upstreamPath : null;
      let exchange: Exchange;
      try {
        exchange = createExchange({
          ...ofExchange,
          bodyLimits,
          modes,
          settings: { ...ofTranslation, profile: profile ?? configuredProfile() },
          upstreamPath: path ?? configuredPath,
          // The operator's names are in the log, and the client does not get them.
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

function readKey(metadata: CallMetadata, key: string): string | null {
  const value = metadata[key];
  return value === undefined || value.length === 0 ? null : String(value);
}

function findPathProblem(path: string | null): string | null {
  if (path === null || /^\/[\x21-\x7e]*$/.test(path)) return null;
  return describeUnknown(pathKey, path, 'a path that starts with /');
}

function describeUnknown(key: string, value: string | null, known: string): string {
  return `${key} is ${JSON.stringify(value)}; it must be ${known}`;
}

const misconfigured = 'The route is not configured correctly. The log of responses-extproc has the reason.';

/**
 * Makes an id with OpenAI's prefix and 32 hexadecimal digits. The first half counts up, so that the items of a response sort as they
 * were made (haystack orders streamed calls by item id); the second half is random.
 */
export function newId(prefix: string): string {
  // Node keeps a supply of random bytes for UUIDs; the system call for new ones costs more than the rest of this function.
  const random = randomUUID();
  return `${prefix}_${nextInOrder()}${random.slice(0, 8)}${random.slice(-8)}`;
}

const maxCount = 0xffff;
let time = 0;
let count = 0;
let timeDigits = '';

/** Returns twelve digits of the time in milliseconds and four of a counter. Setting the clock back does not change the order. */
function nextInOrder(): string {
  const now = Date.now();
  if (now > time || count === maxCount) {
    time = Math.max(now, time + 1);
    count = 0;
    timeDigits = time.toString(16).padStart(12, '0');
  } else count += 1;
  return timeDigits + count.toString(16).padStart(4, '0');
}
