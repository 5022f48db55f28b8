/** Reads the `input` of a wrapped custom tool out of its arguments while they are still arriving. */
export interface CustomInputDecoder {
  /** The next piece of the arguments in; what it adds to the input out. */
  push(text: string): string;
  /** What was held back for a second half that never came. */
  finish(): string;
  /** False while the arguments do not begin with `{"input":"`: then only the whole tells what the input is. */
  isReading(): boolean;
}

/** `{"input":"`, with whatever white space JSON allows; every prefix of it matches too. */
const openings = [/^\s*$/, /^\s*\{\s*$/, /^\s*\{\s*"(?:i(?:n(?:p(?:u(?:t"?)?)?)?)?)?$/, /^\s*\{\s*"input"\s*:?\s*$/];
const opening = /^\s*\{\s*"input"\s*:\s*"/;

/** More white space than this is no opening to wait for. */
const MAX_OPENING = 256;

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  '"': '"',
  '\\': '\\',
  '/': '/',
};

/**
 * Decodes the JSON string after `{"input":` from pieces cut anywhere, inside an escape or between the halves of a
 * surrogate pair. What models get wrong is forgiven: line feeds inside the string, and backslashes that escape nothing.
 */
export function createCustomInputDecoder(): CustomInputDecoder {
  let state: 'opening' | 'string' | 'closed' | 'unknown' = 'opening';
  /** The opening, then an escape that is not complete. */
  let held = '';
  let highSurrogate = '';

  function push(text: string): string {
    switch (state) {
      case 'opening': {
        held += text;
        const match = opening.exec(held);
        if (match === null) {
          if (held.length > MAX_OPENING || !openings.some((prefix) => prefix.test(held))) state = 'unknown';
          return '';
        }
        const rest = held.slice(match[0].length);
        state = 'string';
        held = '';
        return readString(rest);
      }
      case 'string':
        return readString(text);
      case 'closed':
      case 'unknown':
        return '';
    }
  }

  function readString(text: string): string {
    const source = held + text;
    held = '';
    let decoded = '';
    let at = 0;
    while (at < source.length) {
      const special = nextSpecial(source, at);
      decoded += join(source.slice(at, special));
      at = special;
      if (at === source.length) break;
      if (source[at] === '"') {
        state = 'closed';
        return decoded + finish();
      }
      const length = escapeLength(source, at);
      if (at + length > source.length) {
        held = source.slice(at);
        break;
      }
      decoded += join(unescaped(source.slice(at, at + length)));
      at += length;
    }
    return decoded;
  }

  /** Puts a held high surrogate before what follows it, and holds one that ends the text. */
  function join(text: string): string {
    if (text === '') return '';
    const whole = highSurrogate + text;
    const last = whole.charCodeAt(whole.length - 1);
    if (last >= 0xd800 && last <= 0xdbff) {
      highSurrogate = whole.slice(-1);
      return whole.slice(0, -1);
    }
    highSurrogate = '';
    return whole;
  }

  function finish(): string {
    const rest = highSurrogate + (state === 'string' ? held : '');
    highSurrogate = '';
    held = '';
    return rest;
  }

  return {
    push,
    finish,
    isReading() {
      return state === 'string' || state === 'closed';
    },
  };
}

/** Position of the next quote or backslash, or the end. */
function nextSpecial(text: string, from: number): number {
  const quote = text.indexOf('"', from);
  const end = quote === -1 ? text.length : quote;
  const backslash = text.indexOf('\\', from);
  return backslash === -1 || backslash > end ? end : backslash;
}

function escapeLength(text: string, at: number): number {
  return text[at + 1] === 'u' ? 6 : 2;
}

function unescaped(sequence: string): string {
  const letter = sequence[1] ?? '';
  if (letter !== 'u') return escapes[letter] ?? sequence;
  return /^\\u[0-9a-f]{4}$/i.test(sequence) ? String.fromCharCode(Number.parseInt(sequence.slice(2), 16)) : sequence;
}
