import { isCredentialField, redactionMark } from './names.ts';
import { redactUrls } from './urls.ts';

/** Text after the name of a scheme, as servers quote the header that they refuse; a word without a digit is prose. */
const afterScheme = /\b(bearer|basic|digest|negotiate|apikey|token)(\s{1,8})(?=[^\s"'<>,;]{0,400}\d)[\w.~+/=:-]{8,}/gi;

/** A name and its value, as in a header, a query, an assignment or JSON: `x-api-key: …`, `key=…`, `"password": "…"`. */
const namedValue = /(?<![\w-])([\w-]{1,80})(\\?["']?\s{0,4}([:=])\s{0,4}\\?["']?)([^\s"'<>,;&\\]{4,})/g;

/** Keys with a recognisable prefix: OpenAI's and others', GitHub, GitLab, Slack, AWS, Google, Hugging Face, Groq, xAI, JWT. */
const knownKeys =
  /\b(?:sk-(?=[\w-]{0,200}\d)[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|hf_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|nvapi-[\w-]{20,}|eyJ[\w-]{8,400}\.eyJ[\w-]{8,}\.[\w-]*)/g;

/**
 * A message that a server or a library wrote, without the credentials that such messages quote: those after the name of a
 * scheme or behind a name, keys of a known form, user names and passwords of URLs. Lookahead is bounded, so it is linear in the text.
 */
export function redactText(text: string): string {
  return redactUrls(text)
    .replace(afterScheme, `$1$2${redactionMark}`)
    .replace(namedValue, (all, name: string, between: string, sign: string, value: string) =>
      isNamedCredential(name, sign, value) ? `${name}${between}${redactionMark}` : all,
    )
    .replace(knownKeys, redactionMark);
}

/** Behind a colon, a short word without a digit is prose; behind `key` or `token`, a number is a count. */
function isNamedCredential(name: string, sign: string, value: string): boolean {
  if (value === redactionMark) return false;
  if (sign === ':' && !/\d/.test(value) && value.length < 16) return false;
  return isCredentialField(name) || (/^(?:key|token)$/i.test(name) && !/^\d+$/.test(value));
}
