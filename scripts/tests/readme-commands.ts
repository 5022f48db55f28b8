/** The two commands that README.md begins with: what the tests run, and what its picture shows. */
export interface ReadmeCommands {
  /** Starts the local mesh. */
  readonly start: string;
  /** Sends it a request; shell, perhaps in several lines, without the prompt. */
  readonly curl: string;
  /** The output shown below the request; `…` stands for anything. */
  readonly printed: string;
}

/** The fenced blocks of a page in a language (`js`), unchanged. */
export function codeBlocks(page: string, language: string): readonly string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block = '']) => block);
}

/** The first block of README.md in a language. Throws when there is none. */
export function readmeBlock(readme: string, language: string): string {
  const [block] = codeBlocks(readme, language);
  if (block === undefined) throw new Error(`README.md has no block of ${language}.`);
  return block;
}

/** Reads them from the text of README.md: its first two `sh` blocks and its first `text` block. Throws when one is missing. */
export function readmeCommands(readme: string): ReadmeCommands {
  const [start, curl] = codeBlocks(readme, 'sh').map((block) => block.trim());
  if (start === undefined || curl === undefined) throw new Error('README.md has fewer than two blocks of sh.');
  return { start, curl, printed: readmeBlock(readme, 'text') };
}
