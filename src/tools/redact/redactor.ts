import { isCredentialHeader, redactionMark } from '../../filter/wire/credentials/names.ts';
import { redactText } from '../../filter/wire/credentials/text.ts';
import { redactAddress } from '../../filter/wire/credentials/urls.ts';
import { type BodyKind, BodyRedactor } from './body-redactor.ts';
import { KnownValues } from './known-values.ts';

/**
 * Takes the credentials out of what is kept or shown of one exchange, in both directions: by the names of headers, parameters
 * and fields, and wherever a value found that way occurs again. docs/inspector.md says what is found, and what is not.
 */
export class Redactor {
  readonly #known = new KnownValues();

  /** Names and values in turn; of the pseudo headers the method, the path and the status. */
  headers(headers: Iterable<readonly [name: string, value: string]>): string[] {
    const shown: string[] = [];
    for (const [name, value] of headers) this.#addHeader(shown, name, value);
    // Last, since a header may repeat a value whose telling name comes later. Nearly always one search finds nothing in all of
    // them; one for each would take most of the time that recording a small request does.
    let values = '';
    for (let at = 1; at < shown.length; at += 2) values += `${shown[at]}\n`;
    if (this.text(values) === values) return shown;
    return shown.map((text, at) => (at % 2 === 0 ? text : this.text(text)));
  }

  /** For a body that comes in pieces. */
  body(kind: BodyKind): BodyRedactor {
    return new BodyRedactor(this.#known, kind);
  }

  /** For a body that is whole. */
  wholeBody(bytes: Uint8Array, kind: BodyKind): Uint8Array {
    return this.body(kind).whole(bytes);
  }

  /** An error's message, or a name that a client chose. */
  text(text: string): string {
    return this.#known.withoutIn(redactText(text));
  }

  /** Without what its own name, or that of a parameter, says. */
  #addHeader(shown: string[], name: string, value: string): void {
    if (name.startsWith(':')) {
      if (name === ':path') shown.push(name, redactAddress(value, this.#remember));
      else if (name === ':method' || name === ':status') shown.push(name, value);
    } else if (isCredentialHeader(name)) {
      this.#known.add(value);
      shown.push(name, redactionMark);
    } else
      shown.push(name, value.includes('/') && isAddress.test(value) ? redactAddress(value, this.#remember) : value);
  }

  readonly #remember = (value: string) => this.#known.add(value);
}

const isAddress = /^(?:[a-z][a-z0-9+.-]*:\/)?\/\S*$/i;
