/**
 * The oldest Node that serves reliably: older ones treat Envoy's stream resets as an attack. Equal to package.json's
 * `engines`.
 */
const oldest = { major: 22, minor: 22 };

/** The error for a version of Node that is too old; null for any other. */
export function nodeTooOld(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > oldest.major || (major === oldest.major && minor >= oldest.minor)) return null;
  return `This is Node ${version}; responses-extproc needs Node ${oldest.major}.${oldest.minor} or later.`;
}
