import type { Profile } from '../../upstream/profile.ts';
import type { ChatCompletionRequest } from '../../wire/schema/chat-request.ts';
import type { Dropped, Reading } from '../shared/dropped.ts';
import type { CreateResponse } from '../shared/parsed.ts';
import { carry, type Provenance } from '../shared/provenance.ts';

type ChatFields = { -readonly [Name in keyof ChatCompletionRequest]: ChatCompletionRequest[Name] };

/** The path of a field of the request, or of an item or a key in the field. */
type Source = keyof CreateResponse | `${keyof CreateResponse}.${string}` | `${'include' | 'input'}[${number}]`;

/** The Chat request while its fields are written. `provenance` learns of which fields each is made. */
export class ChatWriter {
  readonly chat = {} as ChatFields; // `model` and `messages` are written first
  readonly request: CreateResponse;
  readonly profile: Profile;
  readonly dropped: Dropped;
  readonly #provenance: Provenance;

  constructor(request: CreateResponse, { settings, dropped, provenance }: Reading) {
    this.request = request;
    this.profile = settings.profile;
    this.dropped = dropped;
    this.#provenance = provenance;
  }

  /** Copies the request's field `from` to the field `name`, unless it is null or absent. */
  copy<Name extends keyof ChatCompletionRequest, From extends keyof CreateResponse>(
    name: Name,
    from: CreateResponse[From] extends ChatCompletionRequest[Name] | null | undefined ? From : never,
  ): void {
    this.put(name, this.request[from] as ChatCompletionRequest[Name] | null, from);
  }

  /**
   * Sets the field `name`, unless the value is null or undefined. `from` and `other` are what the value is made of: a path, or an object
   * that has its own marks. Null stands for a value that no field of the request had a part in, or whose parts are marked.
   */
  put<Name extends keyof ChatCompletionRequest>(
    name: Name,
    value: ChatCompletionRequest[Name] | null,
    from: Source | object | null,
    other: Source | null = null,
  ): void {
    if (value == null) return;
    this.chat[name] = value;
    if (!this.#provenance.isRecorded) return; // what follows looks into the request
    for (const source of [from, other]) {
      if (typeof source === 'object' && source !== null) carry(this.chat, source, name);
      else if (source !== null && this.#isSet(source)) this.#provenance.mark(this.chat, source, name);
    }
  }

  /** Is the path set in the request, or in an item of it? If not, the value is a default, or the profile's. */
  #isSet(path: Source): boolean {
    const [name = '', key] = path.split('.');
    if (/^(input|include)\[/.test(name)) return true;
    const value = (this.request as unknown as Readonly<Record<string, unknown>>)[name];
    if (key === undefined) return value != null && value !== '';
    return (value as Readonly<Record<string, unknown>> | null | undefined)?.[key] != null;
  }
}
