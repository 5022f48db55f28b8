// The inspector's page has this file too: nothing in it may need Node.

export const redactionMark = '[redacted]';

/** A header, or a parameter of a URL, with one of these words in its name carries a credential. */
const headerWord =
  /^(auth|oauth|authorization|authentication|cookies?|keys?|token|secrets?|pass|passwords?|passwd|passcode|passphrase|pwd|pin|credentials?|creds?|jwt|signature|sig|assertion|bearer|pat)$/;

/** A JSON field with one of these words in its name carries a credential. The APIs use `token`, `keys` and `signature` otherwise. */
const fieldWord =
  /^(authorization|cookies?|secrets?|passwords?|passwd|passcode|passphrase|pwd|credentials?|creds?|jwt|bearer|pat)$/;

/** A `key` or `token` behind one of these words is a credential; `prompt_cache_key` and `max_tokens` are not. */
const owner =
  /^(api|access|private|secret|auth|oauth|session|refresh|id|subscription|client|security|signing|encryption|bearer|bot|user|master|admin|personal|service|account|deploy|webhook|csrf|xsrf|ssh|storage|shared|sas|hmac|license|vault|root)$/;

/** The names of credentials in one word: `apikey`, `accesstoken`, `clientsecret`, `mypassword`. */
const inOneWord =
  /(api|access|private|secret|auth|session|refresh|id|subscription|client|security|signing|encryption|bearer|bot|user|master|admin|service|account|storage|shared|vault)(key|token)s?$|(secret|password|passwd|passphrase)s?$/;

/** Does a header, or a parameter of a URL, carry a credential, by any word of its name (`x-goog-api-key`, `PRIVATE-TOKEN`, `x-pat`)? */
export const isCredentialHeader = remember((name) => {
  const words = splitWords(name);
  return words.some((word) => headerWord.test(word) || inOneWord.test(word)) || hasOwnedKey(words);
});

/** Does a field of JSON (`refreshToken`) carry a credential? A name with a hyphen is a header's, as in `headers` of an MCP tool. */
export const isCredentialField = remember((name) => {
  if (name.includes('-')) return isCredentialHeader(name);
  const words = splitWords(name);
  if (words.some((word) => fieldWord.test(word) || inOneWord.test(word)) || hasOwnedKey(words)) return true;
  return words.length === 1 && words[0] === 'auth';
});

function hasOwnedKey(words: readonly string[]): boolean {
  return words.some((word, at) => /^(key|token)s?$/.test(word) && owner.test(words[at - 1] ?? ''));
}

/** Splits a name: `awsSecretKey2`, `AWS_SECRET_KEY` and `aws.secret-key` are the same three words. */
function splitWords(name: string): string[] {
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return spaced.split(/[^a-z0-9]+/).map((word) => word.replace(/\d+$/, ''));
}

/** Caches the verdicts on names, which mostly repeat; bounded, since clients may send any. */
function remember(isOne: (name: string) => boolean): (name: string) => boolean {
  const verdicts = new Map<string, boolean>();
  return (name) => {
    const known = verdicts.get(name);
    if (known !== undefined) return known;
    const verdict = name.length <= maxNameLength && isOne(name);
    // Cloned, since a part of a string keeps the whole string alive, which may be a body.
    if (verdicts.size < maxVerdicts) verdicts.set(structuredClone(name), verdict);
    return verdict;
  };
}

/** A longer name is not a credential's. */
export const maxNameLength = 80;
const maxVerdicts = 2000;
