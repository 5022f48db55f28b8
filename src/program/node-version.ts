/** The oldest Node that serves reliably: older ones take Envoy's stream resets for an attack. Equal to package.json's `engines`. */
const oldest = { major: 22, minor: 22 };

/** What to say about this version of Node when it is too old; null when it will do. */
export function nodeTooOld(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > oldest.major || (major === oldest.major && minor >= oldest.minor)) return null;
  return `This is Node ${version}; responses-extproc needs Node ${oldest.major}.${oldest.minor} or later.`;
}
