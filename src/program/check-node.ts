/** The oldest Node of each line, as in `engines`: older ones take Envoy's resets for an attack (22), or throw for a header `constructor`. */
export const oldestNodes = ['22.22.2', '24.14.1', '25.8.2', '26.0.0'] as const;

// Imported before everything else: an old Node would fail on the first import that it lacks.
const tooOld = nodeTooOld(process.versions.node);
if (tooOld !== null) {
  process.stderr.write(`${tooOld}\n`);
  process.exit(1);
}

export function nodeTooOld(version: string): string | null {
  const [major, minor, patch] = parseVersion(version);
  const isEnough = oldestNodes.some((oldest, index) => {
    const [ofLine, leastMinor, leastPatch] = parseVersion(oldest);
    if (major !== ofLine) return index === oldestNodes.length - 1 && major > ofLine;
    return minor > leastMinor || (minor === leastMinor && patch >= leastPatch);
  });
  return isEnough
    ? null
    : `This is Node ${version}; responses-extproc needs Node ${oldestNodes.join(', ')} or later: older ones have a bug with which a request can end the process.`;
}

function parseVersion(version: string): readonly [major: number, minor: number, patch: number] {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return [major, minor, patch];
}
