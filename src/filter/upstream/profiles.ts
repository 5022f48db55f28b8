import * as engines from './servers/engines.ts';
import { type BuiltInProfile, generic } from './servers/generic.ts';
import * as platforms from './servers/platforms.ts';
import * as vendors from './servers/vendors.ts';

/** The built-in profiles by name, in the order of the documentation: `generic`, then the rows of each file by name. */
export const builtInProfiles: ReadonlyMap<string, BuiltInProfile> = new Map(
  [generic, ...[engines, vendors, platforms].flatMap((rows) => Object.values<BuiltInProfile>(rows))].map((row) => [
    row.profile.name,
    row,
  ]),
);
