/** The two commands that README.md begins with: what the tests run, and what the terminal recording shows. */
export interface ReadmeCommands {
  /** Starts the local mesh. */
  readonly start: string;
  /** Sends it a request; shell, perhaps in several lines, without the prompt. */
  readonly curl: string;
  /** The output shown below the request; `…` stands for anything. */
  readonly printed: string;
}

/** The first block of README.md in a language (`ts`), unchanged. Throws when there is none. */
export function readmeBlock(readme: string, language: string): string {
  const block = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(readme)?.[1];
  if (block === undefined) throw new Error(`README.md has no block of ${language}.`);
  return block;
}

/** Reads them from the text of README.md: its first `sh` block and its first `console` block. Throws when one is missing. */
export function readmeCommands(readme: string): ReadmeCommands {
  const start = readmeBlock(readme, 'sh').trim();
  const [, curl, printed] = /^\$ (.*?[^\\])\n(.*)$/s.exec(readmeBlock(readme, 'console')) ?? [];
  if (curl === undefined || printed === undefined)
    throw new Error('The console block of README.md is not “$ command” and its output.');
  return { start, curl, printed };
}
