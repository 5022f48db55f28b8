import type { Profile } from './profile.ts';
import * as engines from './servers/engines.ts';
import { type BuiltInProfile, generic } from './servers/generic.ts';
import * as platforms from './servers/platforms.ts';
import * as vendors from './servers/vendors.ts';

/** Every built-in profile, in the order of the documentation: `generic`, then the rows of each file by name. */
export const builtInProfiles: readonly BuiltInProfile[] = [
  generic,
  ...[engines, vendors, platforms].flatMap((rows) => Object.values<BuiltInProfile>(rows)),
];

const byName = new Map(builtInProfiles.map((row) => [row.profile.name, row]));

/** Every built-in profile's name, in the order of the table. */
export const profileNames: readonly string[] = [...byName.keys()];

/** The built-in profile of that name, or undefined. */
export function profileOf(name: string): Profile | undefined {
  return byName.get(name)?.profile;
}

/** The built-in profile that was written for the API at that host, or undefined. */
export function profileOfHost(host: string): Profile | undefined {
  return builtInProfiles.find(
    ({ recognisedBy }) => 'hosts' in recognisedBy && recognisedBy.hosts.some((pattern) => matches(pattern, host)),
  )?.profile;
}

function matches(pattern: string, host: string): boolean {
  const [start = '', end] = pattern.split('*');
  if (end === undefined) return host === pattern;
  return host.length > start.length + end.length && host.startsWith(start) && host.endsWith(end);
}

/** `gen_ai.provider.name` for a profile: OpenTelemetry’s word for a built-in one, else the profile’s own name. */
export function otelNameOf(name: string): string {
  return byName.get(name)?.otelName ?? name;
}
