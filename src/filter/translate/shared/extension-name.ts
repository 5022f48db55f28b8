import type { ExtensionKeys } from '../../wire/schema/chat-request.ts';

/** Is it a provider's own name, `acme:cost`, as in Open Responses, in characters that need no escaping anywhere? */
export function isExtensionName(name: string): boolean {
  return /^[\w.-]+:[\w.:-]+$/.test(name);
}

/** The keys of `value` with a provider's name and something to say, if the profile passes them. */
export function readExtensionKeys(
  value: Readonly<Record<string, unknown>>,
  { passExtensions }: { readonly passExtensions: boolean },
): ExtensionKeys | null {
  if (!passExtensions) return null;
  const own = Object.entries(value).filter(([name, given]) => given != null && isExtensionName(name));
  return own.length === 0 ? null : Object.fromEntries(own);
}
