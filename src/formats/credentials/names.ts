// The inspector's page has this file too: nothing in it may need Node.

/** Stands for a value that is not shown. */
export const redactionMark = '[redacted]';

/** A header, or a parameter of a URL, with one of these words in its name carries a credential. */
const headerWord =
  /^(auth|oauth|authorization|authentication|cookies?|keys?|token|secrets?|pass|passwords?|passwd|passcode|passphrase|pwd|pin|credentials?|creds?|jwt|signature|sig|assertion|bearer|pat)$/;

/** A JSON field with one of these words in its name carries a credential. Fewer than for headers, since the APIs themselves use `token`, `keys` and `signature`. */
const fieldWord =
  /^(authorization|cookies?|secrets?|passwords?|passwd|passcode|passphrase|pwd|credentials?|creds?|jwt|bearer|pat)$/;

/** A key or token of one of these is a credential; `prompt_cache_key` and `max_tokens` are not. */
const owner =
  /^(api|access|private|secret|auth|oauth|session|refresh|id|subscription|client|security|signing|encryption|bearer|bot|user|master|admin|personal|service|account|deploy|webhook|csrf|xsrf|ssh|storage|shared|sas|hmac|license|vault|root)$/;

/** Owner and kind of a credential in one word: `apikey`, `accesstoken`, `clientsecret`, `mypassword`. */
const inOneWord =
  /(api|access|private|secret|auth|session|refresh|id|subscription|client|security|signing|encryption|bearer|bot|user|master|admin|service|account|storage|shared|vault)(key|token)s?$|(secret|password|passwd|passphrase)s?$/;

/**
 * Whether a header, or a parameter of a URL, carries a credential, by any word of its name, so that
 * vendors' headers that are not listed here are hidden too: `authorization`, `set-cookie`, `x-goog-api-key`, `PRIVATE-TOKEN`, `x-pat`.
 * `x-ratelimit-remaining-tokens` is a count and does not.
 */
export const isCredentialHeader = remembered((name) => {
  const words = wordsOf(name);
  return words.some((word) => headerWord.test(word) || inOneWord.test(word)) || hasOwnedKey(words);
});

/**
 * Whether a field of JSON does: `authorization`, `aws_secret_access_key`, `refreshToken`. A name with a hyphen is that of a
 * header (`headers` of an MCP tool).
 */
export const isCredentialField = remembered((name) => {
  if (name.includes('-')) return isCredentialHeader(name);
  const words = wordsOf(name);
  if (words.some((word) => fieldWord.test(word) || inOneWord.test(word)) || hasOwnedKey(words)) return true;
  return words.length === 1 && words[0] === 'auth';
});

function hasOwnedKey(words: readonly string[]): boolean {
  return words.some((word, at) => /^(key|token)s?$/.test(word) && owner.test(words[at - 1] ?? ''));
}

/** `awsSecretKey2`, `AWS_SECRET_KEY` and `aws.secret-key` are the same three words. */
function wordsOf(name: string): string[] {
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return spaced.split(/[^a-z0-9]+/).map((word) => word.replace(/\d+$/, ''));
}

/** Names mostly repeat, but clients may send any, so the cache is bounded. */
function remembered(isOne: (name: string) => boolean): (name: string) => boolean {
  const verdicts = new Map<string, boolean>();
  return (name) => {
    const known = verdicts.get(name);
    if (known !== undefined) return known;
    const verdict = name.length <= maxNameLength && isOne(name);
    // A copy: engines keep what a part was taken from as long as the part, and that may be a body.
    if (verdicts.size < maxVerdicts) verdicts.set(structuredClone(name), verdict);
    return verdict;
  };
}

/** Names of credentials are shorter. */
export const maxNameLength = 80;
const maxVerdicts = 2000;
