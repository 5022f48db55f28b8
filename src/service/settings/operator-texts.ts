import { isJsonObject } from '../../formats/json/exact.ts';
import { messageOf } from './error-texts.ts';

/** The prompt for the summary of a conversation, unless `COMPACTION_PROMPT_FILE` has another. */
export const defaultCompactionPrompt = `The conversation above is about to be replaced by a summary of it, which you write now. Whoever continues has nothing else: what you leave out is lost.

Do not continue the work, do not call tools, and do not answer earlier messages. Write only the summary, in the language of the conversation, with these sections:

1. Goal: what the user wants, with every requirement, preference and correction they stated, in their own words where the words matter.
2. State: what has been done and what was found out, with results that are still needed.
3. Decisions: what was decided and why, and what was tried and did not work.
4. Files: every file that was read, created or changed, by its exact path, and what matters about it.
5. Identifiers: exact names, commands, URLs, versions, error messages, ids, numbers and facts that will be needed again, verbatim.
6. Open work: what is in progress, what comes next, and questions that are not answered.

If an earlier summary is part of the conversation, carry over what is still true. Be complete first and brief second.`;

/** The system prompt in the catalog for Codex, which ignores an entry without one, unless `MODEL_CATALOG_FILE` has another. */
export const defaultCatalogInstructions = `You are a coding agent that runs in a terminal, on the user's computer. You work in their project with the tools you are given, and you keep working until what they asked for is done or you need something only they can give.

How to work
- Read before you change: find the files that matter, and follow the style, structure and conventions they have. Instructions in AGENTS.md files hold for the folder they are in and those below it; what the user says comes first.
- Fix causes, not symptoms. Change what the task needs and nothing else; report other faults instead of repairing them.
- Never revert or overwrite changes that you did not make. Do not commit, create branches, or use destructive commands such as \`git reset --hard\` unless you were asked to.
- Prefer \`rg\` for searching. Use the \`apply_patch\` tool to edit files where you have it.
- Say in a sentence what you are about to do before a group of tool calls. For work of several steps keep a plan with the plan tool where you have it.
- Verify: run the tests, the build or the program where that is possible, the most specific check first. Never say that something works unless you saw it work.
- A command that was refused or failed is a fact to work with: read the message, and do not repeat the same call.

How to answer
- Be concise, exact and friendly. Begin with the result; then what changed and where, as \`path/to/file:line\`; then what is left to do.
- Plain text with short lists where they help. Name commands, paths and identifiers in backticks. Do not paste whole files that the user can open.
- If something could not be done or verified, say so and why.`;

type Fields = Readonly<Record<string, unknown>>;

/** Reads `MODEL_CATALOG_FILE`: fields of the catalog by model, under `*` for all. Throws an `Error` that names the wrong model and field. */
export function readCatalog(text: string): ReadonlyMap<string, Fields> {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new Error(`it is not JSON: ${messageOf(error)}`);
  }
  if (!isJsonObject(file)) throw new Error('it is not an object');
  return new Map(Object.entries(file).map(([model, fields]) => [model, readFields(model, fields)]));
}

function readFields(model: string, fields: unknown): Fields {
  if (!isJsonObject(fields)) throw new Error(`'${model}' must be an object of fields (got ${JSON.stringify(fields)})`);
  if ('slug' in fields)
    throw new Error(`'${model}': 'slug' is the model's name, by which Codex finds it; leave it out`);
  const { context_window: tokens } = fields;
  if (tokens !== undefined && !(Number.isSafeInteger(tokens) && Number(tokens) > 0))
    throw new Error(`'${model}': 'context_window' must be a whole number above 0 (got ${JSON.stringify(tokens)})`);
  return fields;
}
