import type { FlagName, Profile } from './profile.ts';

/** Everything known about one kind of server: what it accepts and sends, and how it is recognised and named. */
export interface BuiltInProfile {
  readonly profile: Profile;
  /** The profile that this one is a set of differences from; null for the first. */
  readonly base: BuiltInProfile | null;
  /** What kind of server it is for, in Markdown. */
  readonly about: string;
  /** Why each flag differs from the base: the source, or † where none was found. */
  readonly reasons: Partial<Readonly<Record<FlagName, string>>>;
  readonly recognisedBy: RecognisedBy;
  /** `gen_ai.provider.name` in OpenTelemetry’s conventions; without one the profile’s own name is reported. */
  readonly otelName?: string | undefined;
}

/**
 * What tells `doctor` that a server is of this kind: its host, with `*` for any part of the name, or what an engine says of
 * itself. `not` says why it cannot be recognised.
 */
export type RecognisedBy =
  | { readonly hosts: readonly string[] }
  | { readonly engine: Engine }
  | { readonly not: string };

/** Where an engine says what it is; null where it does not. */
export interface Engine {
  /** Its name as the `owned_by` of a model in `/v1/models`. */
  readonly ownedBy: string | null;
  /** A path that only this engine has; `doctor` knows how to read the answer. */
  readonly path: '/props' | '/api/version' | '/metrics' | null;
}
