import { type BodyKind, BodyRedactor } from './body-redactor.ts';
import { KnownValues } from './known-values.ts';
import { isCredentialHeader, redactionMark } from './names.ts';
import { redactText } from './text.ts';
import { redactAddress } from './urls.ts';

/**
 * Takes the credentials out of what is kept or shown of one exchange, in both directions: by the names of headers, parameters
 * and fields, and wherever a value found that way occurs again. docs/inspector.md says what is found, and what is not.
 */
export class Redactor {
  readonly #known = new KnownValues();

  /** Names and values in turn; of the pseudo headers the method, the path and the status. */
  headers(headers: Iterable<readonly [name: string, value: string]>): string[] {
    const all = [...headers];
    const shown = all.flatMap(([name, value]) => this.#header(name, value));
    // A header may repeat a value whose telling name comes later.
    return shown.map((text, at) => (at % 2 === 0 ? text : this.#known.withoutIn(text)));
  }

  /** For a body that comes in pieces. */
  body(kind: BodyKind): BodyRedactor {
    return new BodyRedactor(this.#known, kind);
  }

  /** For a body that is whole. */
  wholeBody(bytes: Uint8Array, kind: BodyKind): Uint8Array {
    const redactor = this.body(kind);
    const shown = redactor.push(bytes);
    const rest = redactor.end();
    return rest.length === 0 ? shown : shown.length === 0 ? rest : Buffer.concat([shown, rest]);
  }

  /** An error's message, or a name that a client chose. */
  text(text: string): string {
    return this.#known.withoutIn(redactText(text));
  }

  #header(name: string, value: string): string[] {
    if (name.startsWith(':')) {
      if (name === ':path') return [name, redactAddress(value, this.#remember)];
      return name === ':method' || name === ':status' ? [name, value] : [];
    }
    if (isCredentialHeader(name)) {
      this.#known.add(value);
      return [name, redactionMark];
    }
    const isAddress = /^([a-z][a-z0-9+.-]*:\/)?\/\S*$/i.test(value);
    return [name, isAddress ? redactAddress(value, this.#remember) : redactText(value)];
  }

  readonly #remember = (value: string) => this.#known.add(value);
}
