import { hash } from 'node:crypto';
import { type ByteRange, type Member, membersOf } from '../../filter/wire/json/members.ts';
import { promptFields } from './view/turn-changes.ts';

/**
 * A Chat request as hashes of its parts' bytes as sent, since a server's prefix cache compares those.
 */
export interface Turn {
  /** What chat templates write before the messages, with the model, by field. */
  readonly fields: Readonly<Record<string, string>>;
  readonly messages: readonly TurnMessage[];
}

export interface TurnMessage {
  readonly hash: string;
  /** `developer` is `system`; anything unknown is `user`. */
  readonly role: 'system' | 'assistant' | 'user';
}

/** Longer conversations are not linked. */
const maxMessages = 20_000;
/** Those that are looked for come early in a request, or in a message. */
const maxFields = 1000;

/** The parts of a Chat request's bytes; null if it is not one. Nothing is parsed, since histories are long. */
export function turnOf(bytes: Buffer): Turn | null {
  const fields = fieldsOf(bytes, 0);
  const messages = fields.get('messages');
  const list = messages === undefined ? null : membersOf(bytes, messages.start, maxMessages);
  if (list?.type !== 'list' || list.isCut) return null;
  const hashes = promptFields.flatMap((name) => {
    const range = fields.get(name);
    return range === undefined ? [] : [[name, hashOf(bytes, range)]];
  });
  return {
    fields: Object.fromEntries(hashes),
    messages: list.members.map((range) => ({ hash: hashOf(bytes, range), role: roleOf(bytes, range) })),
  };
}

function hashOf(bytes: Buffer, { start, end }: ByteRange): string {
  return hash('sha1', bytes.subarray(start, end), 'base64url').slice(0, 16);
}

function roleOf(bytes: Buffer, { start }: ByteRange): TurnMessage['role'] {
  const role = fieldsOf(bytes, start).get('role');
  const text = role === undefined ? '' : bytes.toString('latin1', role.start + 1, role.end - 1);
  if (text === 'system' || text === 'developer') return 'system';
  return text === 'assistant' ? 'assistant' : 'user';
}

/** The fields of the object at `start`, by name; none where there is no object. */
function fieldsOf(bytes: Buffer, start: number): ReadonlyMap<string, Member> {
  const object = membersOf(bytes, start, maxFields);
  return new Map(object?.type === 'object' ? object.members.map((member) => [member.name, member]) : []);
}
