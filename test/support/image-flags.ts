import { readFileSync } from 'node:fs';

const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');

/** The flags with which the image starts Node. */
export const imageFlags: readonly string[] = flagsOf(dockerfile);

/** What the image tells glibc of memory that is freed. */
export const imageMalloc: Readonly<Record<string, string>> = Object.fromEntries(
  [...dockerfile.matchAll(/\b(MALLOC_\w+)=(\d+)/g)].map(([, name, value]) => [name, value]),
);

function flagsOf(dockerfile: string): string[] {
  const list = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)?.[1];
  if (list === undefined) throw new Error('The Dockerfile has no ENTRYPOINT.');
  return (JSON.parse(list) as string[]).filter((argument) => argument.startsWith('--'));
}
