import { redactionMark } from './names.ts';
import { redactUrls } from './urls.ts';

/** Text after the name of a scheme, as servers quote the header that they refuse; a word without a digit is prose. */
const afterScheme = /\b(bearer|basic|digest|negotiate|apikey|token)(\s{1,8})(?=[^\s"'<>,;]{0,400}\d)[\w.~+/=:-]{8,}/gi;

/** Keys with a recognisable prefix: OpenAI's and others', GitHub, GitLab, Slack, AWS, Google, Hugging Face, Groq, xAI, JWT. */
const knownKeys =
  /\b(?:sk-(?=[\w-]{0,200}\d)[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|hf_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|nvapi-[\w-]{20,}|eyJ[\w-]{8,400}\.eyJ[\w-]{8,}\.[\w-]*)/g;

/**
 * A message that a server or a library wrote, without the credentials that such messages quote: those after the name of a
 * scheme, keys of a known form, user names and passwords of URLs. Lookahead is bounded, so it is linear in the text.
 */
export function redactText(text: string): string {
  return redactUrls(text).replace(afterScheme, `$1$2${redactionMark}`).replace(knownKeys, redactionMark);
}
