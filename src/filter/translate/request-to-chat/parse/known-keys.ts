import type * as z from 'zod/mini';
import { isJsonObject } from '../../../../formats/json/exact.ts';
import { generalOf } from '../../../../formats/json/paths.ts';
import { unread } from '../../../wire/schema/create-response.ts';
import type { Reading } from '../../shared/dropped.ts';
import { isExtensionName } from '../../shared/extension-name.ts';
import { unknownParameter } from '../../shared/request-errors.ts';

/** The keys of one kind of object that are read, and of the objects in it that the same schema reads. */
export interface KnownKeys {
  readonly names: ReadonlySet<string>;
  /** Others that the API or a server has: they are named, and never refused. */
  readonly unread: ReadonlySet<string>;
  readonly inner: readonly (readonly [name: string, keys: KnownKeys])[];
}

/** Keys with which servers and clients identify items, parts and tools; models never see them. */
const records = [
  'id',
  'status',
  'type',
  'created_by',
  'created_at',
  'caller',
  'client_metadata',
  'internal_chat_message_metadata_passthrough',
];

/** The keys of an item, a part or a tool with that schema. */
export function knownKeys(schema: z.ZodMiniObject): KnownKeys {
  return keysOf(schema, records);
}

/** Keys that reach the upstream, or are done with: they need no name. */
export type PassedKeys = Readonly<Record<string, unknown>>;

const bySchema = new WeakMap<object, KnownKeys | 'no object'>();

/** Refuses or names what a schema would strip of a value in silence, at any depth; `passed` are keys that go to the upstream. */
export function nameStripped(
  schema: z.ZodMiniType,
  value: unknown,
  at: string,
  reading: Reading,
  passed: PassedKeys | null = null,
): void {
  if (!isJsonObject(value)) return;
  let keys = bySchema.get(schema);
  if (keys === undefined) {
    const object = objectIn(schema);
    keys = object === null ? 'no object' : keysOf(object, []);
    bySchema.set(schema, keys);
  }
  if (keys !== 'no object') nameUnknown(keys, value, at, reading, passed);
}

/** Likewise for an object of known keys. Keys that are null say nothing. `place` is `at` without indexes, where that is known. */
export function nameUnknown(
  { names, unread: published, inner }: KnownKeys,
  value: Readonly<Record<string, unknown>>,
  at: string,
  reading: Reading,
  passed: PassedKeys | null = null,
  place = '',
): void {
  const { dropped } = reading;
  const { unknownFields, profile } = reading.settings;
  let named = place;
  for (const key in value) {
    if (names.has(key) || value[key] == null || (passed !== null && Object.hasOwn(passed, key))) continue;
    const isPublished = published.has(key) || (profile.passExtensions && isExtensionName(key));
    if (unknownFields === 'reject' && !isPublished) throw unknownParameter(`${at}.${key}`);
    named ||= generalOf(at);
    dropped.pushKey(named, key);
  }
  for (const [name, keys] of inner) {
    const object = value[name];
    if (isJsonObject(object)) nameUnknown(keys, object, `${at}.${name}`, reading);
  }
}

function keysOf({ shape }: z.ZodMiniObject, others: readonly string[]): KnownKeys {
  const entries = Object.entries(shape);
  const isUnread = ([, schema]: (typeof entries)[number]) => schema === unread;
  const inner = entries.flatMap(([name, schema]) => {
    const object = objectIn(schema as z.ZodMiniType);
    return object === null ? [] : [[name, keysOf(object, [])] as const];
  });
  const names = entries.filter((entry) => !isUnread(entry)).map(([name]) => name);
  return {
    names: new Set([...names, ...others]),
    unread: new Set(entries.filter(isUnread).map(([name]) => name)),
    inner,
  };
}

/** The object that a schema reads, where it reads one; its keys are stripped to those of the schema. */
function objectIn(schema: z.ZodMiniType): z.ZodMiniObject | null {
  const { def } = schema as unknown as { readonly def: { readonly type: string; readonly innerType?: z.ZodMiniType } };
  if (def.type === 'object') return schema as z.ZodMiniObject;
  return def.innerType === undefined ? null : objectIn(def.innerType);
}
