import { isCredentialHeader, redactionMark } from '../../filter/wire/credentials/names.ts';
import { redactText } from '../../filter/wire/credentials/text.ts';
import { redactAddress } from '../../filter/wire/credentials/urls.ts';
import { KnownValues } from './known-values.ts';
import { redactJson } from './redact-json.ts';

/** `error`: the answer of a server that refused, or what follows an error inside a 200; it quotes what the server was sent. */
export type BodyKind = 'request' | 'answer' | 'error';

/**
 * Takes the credentials out of what is kept or shown of one exchange, in both directions: by the names of headers, parameters
 * and fields, and wherever a value found that way occurs again. docs/inspector.md says what is found, and what is not.
 */
export class Redactor {
  readonly #known = new KnownValues();

  /** Headers by name; of the pseudo headers the method, the path and the status. */
  headers(headers: Iterable<readonly [name: string, value: string]>): Map<string, string> {
    const shown = [...headers].filter(([name]) => !name.startsWith(':') || shownPseudoHeaders.has(name));
    const named = shown.map(([name, value]) => [name, this.#withoutNamed(name, value)] as const);
    // Last, since a header may repeat a value whose telling name comes later.
    return new Map(named.map(([name, value]) => [name, this.text(value)]));
  }

  /**
   * A body, or an event of a stream, that is whole: bytes that are read as Latin-1, as is what remains of them. In one that comes
   * in pieces a credential may be cut anywhere.
   */
  body(latin1: string, kind: BodyKind): string {
    const shown = this.#known.without(redactJson(latin1, this.#remember), 'latin1');
    return kind === 'error' ? redactText(shown) : shown;
  }

  /** An error's message, or a name that a client chose. */
  text(text: string): string {
    return this.#known.without(redactText(text), 'text');
  }

  /** The value without what its header's name, or that of a parameter, says. */
  #withoutNamed(name: string, value: string): string {
    if (!name.startsWith(':') && isCredentialHeader(name)) {
      this.#known.add(value);
      return redactionMark;
    }
    return name === ':path' || isAddress.test(value) ? redactAddress(value, this.#remember) : value;
  }

  readonly #remember = (value: string) => this.#known.add(value);
}

/** Whether an answer has an error with something in it, not quoted by a model. */
export function hasError(latin1: string): boolean {
  return latin1.includes('"error"') && /"error"\s*:\s*[{"]/.test(latin1);
}

const shownPseudoHeaders: ReadonlySet<string> = new Set([':method', ':path', ':status']);
const isAddress = /^(?:[a-z][a-z0-9+.-]*:\/)?\/\S*$/i;
