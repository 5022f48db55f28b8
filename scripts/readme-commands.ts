/** The two commands that README.md begins with: what the tests run, and what the terminal recording shows. */
export interface ReadmeCommands {
  /** Starts the local mesh. */
  readonly start: string;
  /** Sends it a request; shell, perhaps in several lines, without the prompt. */
  readonly curl: string;
  /** What stands below the request; `…` stands for anything. */
  readonly printed: string;
}

/** Reads them from the text of README.md: its first `sh` block and its first `console` block. Throws when one is missing. */
export function readmeCommands(readme: string): ReadmeCommands {
  const start = /^```sh\n(.*?)^```$/ms.exec(readme)?.[1]?.trim();
  const transcript = /^```console\n(.*?)^```$/ms.exec(readme)?.[1];
  const [, curl, printed] = /^\$ (.*?[^\\])\n(.*)$/s.exec(transcript ?? '') ?? [];
  if (start === undefined || curl === undefined || printed === undefined)
    throw new Error(
      'README.md has no ```sh block with a command, or no ```console block with “$ command” and its output.',
    );
  return { start, curl, printed };
}
