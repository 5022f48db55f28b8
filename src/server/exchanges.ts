import { Exchange, type ExchangeOptions } from '../exchange/exchange.ts';
import type { BodyModes } from '../exchange/types.ts';
import type { CallMetadata } from '../extproc/call-metadata.ts';
import { ApiError } from '../schema/api-error.ts';
import type { Config } from '../settings/config.ts';
import type { TranslationSettings } from '../translate/settings.ts';
import type { Profile } from '../upstream/profile.ts';
import { newId } from './ids.ts';
import { type OperatorFiles, readOperatorFiles } from './operator-files.ts';
import type { Admission } from './overload.ts';
import type { OpenExchange } from './process.ts';
import type { ProfileSource } from './profile-source.ts';

/** Creates exchanges as configured. */
export interface ExchangeFactory {
  /**
   * `metadata` is the call's; `admission` is its admission by the overload guard, the error that refuses it, or null
   * without a guard.
   */
  open(metadata: CallMetadata, modes: BodyModes | null, admission: Admission | ApiError | null): OpenExchange;
}

/**
 * What a route may choose: the call's initial metadata, which Envoy writes from its own configuration
 * (`grpc_service.initial_metadata`). Nothing a client sends gets there.
 */
const profileKey = 'x-upstream-profile';
const pathKey = 'x-upstream-path';

const systemClock: ExchangeOptions['clock'] = { now: () => Math.floor(Date.now() / 1000), newId };

/**
 * The factory for a configuration. `onMisconfigured` is told of routes that name an unknown profile or an invalid path;
 * `createExchange` replaces the class of its exchanges; `files` are the configuration's, read already. Throws `ConfigError`
 * for files that cannot be used.
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
): ExchangeFactory {
  const settings = new WeakMap<Profile, TranslationSettings>();
  const configuredModes = { request: config.REQUEST_BODY_MODE, response: config.RESPONSE_BODY_MODE };
  const bodyLimits = {
    maxRequestBytes: config.MAX_REQUEST_BYTES,
    maxResponseBytes: config.MAX_RESPONSE_BYTES,
    maxErrorBytes: config.MAX_ERROR_BYTES,
    maxSseEventBytes: config.MAX_SSE_EVENT_BYTES,
  };

  function settingsFor(profile: Profile): TranslationSettings {
    const known = settings.get(profile) ?? translationSettings(config, profile, files);
    settings.set(profile, known);
    return known;
  }

  function configuredProfile(): Profile {
    const profile = profiles.profileOf(config.UPSTREAM_PROFILE);
    if (profile === undefined) throw new Error(`There is no profile ${config.UPSTREAM_PROFILE}.`);
    return profile;
  }

  configuredProfile();
  return {
    open(metadata, given, admission) {
      const [admitted, overload] = admission instanceof ApiError ? [null, admission] : [admission, null];
      const name = textOf(metadata, profileKey);
      const path = textOf(metadata, pathKey);
      const profile = name === null ? configuredProfile() : profiles.profileOf(name);
      const problem =
        profile === undefined ? unknownProfile(name ?? '', profiles) : path === null ? null : pathProblem(path);
      if (problem !== null) onMisconfigured(problem);
      const modes = given ?? configuredModes;
      // A route that names a profile uses that profile's path, not UPSTREAM_PATH, which belongs to the configured one.
      const configuredPath = name === null && config.UPSTREAM_PATH !== '' ? config.UPSTREAM_PATH : null;
      const exchange = createExchange({
        modes,
        settings: settingsFor(profile ?? configuredProfile()),
        bodyLimits,
        upstreamPath: path ?? configuredPath,
        refusal: problem === null ? overload : misconfigured(),
        reserve: (bodyBytes, keptHeapBytes) => admitted?.reserve(bodyBytes, keptHeapBytes) ?? null,
        stallTimeoutMs: config.UPSTREAM_IDLE_TIMEOUT_MS,
        heartbeatMs: config.HEARTBEAT_INTERVAL_MS,
        finishGraceMs: config.FINISH_GRACE_MS,
        sessionHeader: config.SESSION_HEADER === '' ? null : config.SESSION_HEADER,
        clock,
      });
      return { exchange, modes, close: () => admitted?.release() };
    },
  };
}

function textOf(metadata: CallMetadata, key: string): string | null {
  const value = metadata[key];
  return value === undefined || value.length === 0 ? null : String(value);
}

function unknownProfile(name: string, profiles: Pick<ProfileSource, 'names'>): string {
  return `${profileKey} is ${JSON.stringify(name)}; it must be one of ${profiles.names().join(', ')}`;
}

function pathProblem(path: string): string | null {
  return /^\/[\x21-\x7e]*$/.test(path)
    ? null
    : `${pathKey} is ${JSON.stringify(path)}; it must be a path that starts with /`;
}

/** What the client is told: none of the operator's names, which the log has. */
function misconfigured(): ApiError {
  return new ApiError('The route is not configured correctly; the log of responses-extproc says why.', {
    status: 500,
    type: 'server_error',
    code: 'proxy_misconfigured',
  });
}

function translationSettings(config: Config, profile: Profile, files: OperatorFiles): TranslationSettings {
  return {
    profile,
    limits: {
      maxItems: config.MAX_INPUT_ITEMS,
      maxTextBytes: config.MAX_TEXT_BYTES,
      maxImageUrlBytes: config.MAX_IMAGE_URL_BYTES,
      maxFileBytes: config.MAX_FILE_BYTES,
      maxTools: config.MAX_TOOLS,
      maxNesting: config.MAX_NESTING,
      maxValues: config.MAX_REQUEST_VALUES,
    },
    defaultModel: config.DEFAULT_MODEL === '' ? null : config.DEFAULT_MODEL,
    omittedStore: config.OMITTED_STORE,
    reasoningEvents: config.REASONING_EVENTS,
    droppedTools: config.DROPPED_TOOLS,
    unsupportedItems: config.UNSUPPORTED_ITEMS,
    unknownItems: config.UNKNOWN_ITEMS,
    contextManagement: config.CONTEXT_MANAGEMENT,
    orphanOutputs: config.ORPHAN_OUTPUTS,
    missingOutputs: config.MISSING_OUTPUTS,
    unknownFields: config.UNKNOWN_FIELDS,
    strictEcho: config.STRICT_ECHO,
    compaction: {
      prompt: files.compactionPrompt,
      maxTokens: config.COMPACTION_MAX_TOKENS,
      contextWindow: config.MODEL_CONTEXT_WINDOW === 0 ? null : config.MODEL_CONTEXT_WINDOW,
      foreignItems: config.FOREIGN_COMPACTION,
    },
    catalog: {
      instructions: files.catalogInstructions,
      contextWindow: config.MODEL_CONTEXT_WINDOW === 0 ? null : config.MODEL_CONTEXT_WINDOW,
      overrides: files.catalogOverrides,
    },
  };
}
