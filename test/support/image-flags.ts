import { readFileSync } from 'node:fs';

/** The flags with which the image starts Node. */
export const imageFlags: readonly string[] = flagsOf(
  readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8'),
);

function flagsOf(dockerfile: string): string[] {
  const list = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)?.[1];
  if (list === undefined) throw new Error('The Dockerfile has no ENTRYPOINT.');
  return (JSON.parse(list) as string[]).filter((argument) => argument.startsWith('--'));
}
