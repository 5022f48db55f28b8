import { RE2JS } from 're2js';

/**
 * An operator's regular expression over what an upstream or a client wrote. It runs in RE2, whose time is linear in the text
 * for any pattern; JavaScript's own engine would take minutes for some.
 *
 * The constructor throws, with the reason, for what RE2 cannot match: back-references and lookaround.
 */
export class LinearRegExp extends RegExp {
  readonly #matcher: RE2JS;

  constructor(pattern: RegExp) {
    super(pattern);
    const { source, flags } = pattern;
    let options = 0;
    if (flags.includes('i')) options |= RE2JS.CASE_INSENSITIVE;
    if (flags.includes('m')) options |= RE2JS.MULTILINE;
    if (flags.includes('s')) options |= RE2JS.DOTALL;
    this.#matcher = RE2JS.compile(RE2JS.translateRegExp(source), options);
  }

  override test(text: string): boolean {
    return this.#matcher.matcher(text).find();
  }

  override exec(): never {
    throw new Error('A LinearRegExp can only be tested.');
  }
}
