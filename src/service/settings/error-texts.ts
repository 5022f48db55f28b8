/** What an error says; anything else that was thrown as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What `parseArgs` says is wrong, without its advice. */
export function usageProblem(error: unknown): string {
  return `${messageOf(error).split('. ', 1)[0]}.`;
}
