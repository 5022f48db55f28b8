import { arrayOf, objectOf, objectsOf, textOf } from '../../chat/loose.ts';

/** Items of tools that only OpenAI's servers run, calls and outputs. */
const hostedItems = new Set([
  'web_search_call',
  'file_search_call',
  'computer_call',
  'computer_call_output',
  'image_generation_call',
  'code_interpreter_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_call',
  'program',
  'program_output',
]);

export function isHostedItem(type: string): boolean {
  return hostedItems.has(type);
}

interface LooseHostedItem {
  readonly action?: unknown;
  readonly queries?: unknown;
  readonly results?: unknown;
  readonly code?: unknown;
  readonly outputs?: unknown;
  readonly revised_prompt?: unknown;
  readonly name?: unknown;
  readonly server_label?: unknown;
  readonly arguments?: unknown;
  readonly output?: unknown;
  readonly error?: unknown;
}

/**
 * What a model needs to know of a hosted call that is over, as text; `''` where there is nothing. The item is history:
 * its tool ran elsewhere, and what the model said with its result stands in the messages around it.
 */
export function textOfHostedItem(type: string, item: object): string {
  const hosted = objectOf<LooseHostedItem>(item) ?? {};
  switch (type) {
    case 'web_search_call': {
      const action = objectOf<{ query?: unknown; queries?: unknown; url?: unknown }>(hosted.action);
      return noted('Searched the web', [...textsIn(action?.queries), textOf(action?.query), textOf(action?.url)]);
    }
    case 'file_search_call': {
      const results = objectsOf<{ filename?: unknown; text?: unknown }>(hosted.results);
      const found = results.map(({ filename, text }) => `${textOf(filename)}: ${textOf(text)}`);
      return noted('Searched files', [...textsIn(hosted.queries), ...found]);
    }
    case 'code_interpreter_call': {
      const logs = objectsOf<{ logs?: unknown }>(hosted.outputs).map((output) => textOf(output.logs));
      return noted('Ran code', [textOf(hosted.code), ...logs]);
    }
    case 'image_generation_call':
      return noted('Generated an image', [textOf(hosted.revised_prompt)]);
    case 'mcp_call':
      return noted(`Called ${textOf(hosted.server_label)} ${textOf(hosted.name)}`, [
        textOf(hosted.arguments),
        textOf(hosted.output),
        textOf(hosted.error),
      ]);
    default:
      return '';
  }
}

function textsIn(value: unknown): string[] {
  return arrayOf(value).map(textOf);
}

/** `''` where no text says more than that the tool ran. */
function noted(what: string, texts: readonly string[]): string {
  const told = [...new Set(texts.filter((text) => text !== ''))];
  return told.length === 0 ? '' : `[${what}]\n${told.join('\n')}`;
}
