import type * as z from 'zod/mini';
import { isJsonObject } from '../../../../formats/json/exact.ts';
import { generalOf } from '../../../../formats/json/loose.ts';
import { unread } from '../../../wire/schema/create-response.ts';
import type { Reading } from '../../shared/dropped.ts';
import { isExtensionName } from '../../shared/extension-name.ts';
import { unknownParameter } from '../../shared/request-errors.ts';

/** The keys of one kind of object that are read, and the same of the objects in it that its schema reads. */
export interface KnownKeys {
  readonly names: ReadonlySet<string>;
  /** Further keys that the API or a server has: they are dropped and listed, and never refused. */
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

export function knownKeys(schema: z.ZodMiniObject): KnownKeys {
  return readKeys(schema, records);
}

/** Keys that reach the upstream, or that are dealt with elsewhere. */
export type PassedKeys = Readonly<Record<string, unknown>>;

const bySchema = new WeakMap<object, KnownKeys | 'no object'>();

/** Refuses, or drops and lists, what a schema would strip of a value in silence, at any depth. */
export function dropStripped(
  schema: z.ZodMiniType,
  value: unknown,
  at: string,
  reading: Reading,
  passed: PassedKeys | null = null,
): void {
  if (!isJsonObject(value)) return;
  let keys = bySchema.get(schema);
  if (keys === undefined) {
    const object = findObject(schema);
    keys = object === null ? 'no object' : readKeys(object, []);
    bySchema.set(schema, keys);
  }
  if (keys !== 'no object') dropUnknown(keys, value, at, reading, passed);
}

/** Refuses, or drops and lists, further keys of an object, unless they are null or `passed`. `place` is `at` without indexes, where known. */
export function dropUnknown(
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
    if (isJsonObject(object)) dropUnknown(keys, object, `${at}.${name}`, reading);
  }
}

function readKeys({ shape }: z.ZodMiniObject, others: readonly string[]): KnownKeys {
  const entries = Object.entries(shape);
  const isUnread = ([, schema]: (typeof entries)[number]) => schema === unread;
  const inner = entries.flatMap(([name, schema]) => {
    const object = findObject(schema as z.ZodMiniType);
    return object === null ? [] : [[name, readKeys(object, [])] as const];
  });
  const names = entries.filter((entry) => !isUnread(entry)).map(([name]) => name);
  return {
    names: new Set([...names, ...others]),
    unread: new Set(entries.filter(isUnread).map(([name]) => name)),
    inner,
  };
}

/** The schema of an object in a schema that may be optional or nullable; null for other schemas. */
function findObject(schema: z.ZodMiniType): z.ZodMiniObject | null {
  const { def } = schema as unknown as { readonly def: { readonly type: string; readonly innerType?: z.ZodMiniType } };
  if (def.type === 'object') return schema as z.ZodMiniObject;
  return def.innerType === undefined ? null : findObject(def.innerType);
}
