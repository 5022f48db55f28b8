/** The two commands that README.md begins with: what the tests run, and what the terminal recording shows. */
export interface ReadmeCommands {
  /** Starts the local mesh. */
  readonly start: string;
  /** Sends it a request; shell, perhaps in several lines, without the prompt. */
  readonly curl: string;
  /** The output shown below the request; `…` stands for anything. */
  readonly printed: string;
}

/** The blocks of README.md in a language (`ts`), unchanged. */
function readmeBlocks(readme: string, language: string): readonly string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block = '']) => block);
}

/** The first of them. Throws when there is none. */
export function readmeBlock(readme: string, language: string): string {
  const [block] = readmeBlocks(readme, language);
  if (block === undefined) throw new Error(`README.md has no block of ${language}.`);
  return block;
}

/** Reads them from the text of README.md: its first two `sh` blocks and its first `text` block. Throws when one is missing. */
export function readmeCommands(readme: string): ReadmeCommands {
  const [start, curl] = readmeBlocks(readme, 'sh').map((block) => block.trim());
  if (start === undefined || curl === undefined) throw new Error('README.md has fewer than two blocks of sh.');
  return { start, curl, printed: readmeBlock(readme, 'text') };
}
