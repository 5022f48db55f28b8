/** A provider's own name, `acme:cost`, as Open Responses has it, in characters that need no escaping anywhere. */
export function isExtensionName(name: string): boolean {
  return /^[\w.-]+:[\w.:-]+$/.test(name);
}
