import * as z from 'zod/mini';
import { callId, list, optionalText, optionalValue, textOrList, unread } from '../../wire/schema/create-response.ts';
import type { ClientToolCallItem } from '../../wire/schema/response-resource.ts';
import { type InputBuilder, itemType } from '../request-to-chat/parse/input-builder.ts';
import { parseFields } from '../request-to-chat/parse/parse-shape.ts';
import { toolType } from '../request-to-chat/parse/tools-builder.ts';
import { invalidType, quote, unsupportedParameter } from '../shared/request-errors.ts';
import { addCall, addOutput, type ClientTool, offerAs, readTexts, readWhole, timeoutParameter } from './client-tool.ts';

interface ShellCallItem extends ClientToolCallItem {
  readonly type: 'shell_call';
  readonly action: {
    readonly commands: readonly string[];
    readonly timeout_ms: number | null;
    readonly max_output_length: number | null;
  };
  readonly environment: { readonly type: 'local' };
}

const environment = z.object({
  type: z.string(),
  skills: unread,
  container_id: unread,
  file_ids: unread,
  memory_limit: unread,
  network_policy: unread,
});
const entry = z.object({ environment: z.nullish(environment), allowed_callers: unread });
const callItem = z.object({
  call_id: callId,
  action: z.object({ commands: list, timeout_ms: z.nullish(z.number()), max_output_length: z.nullish(z.number()) }),
  environment: z.nullish(environment),
});
const outputItem = z.object({ call_id: callId, output: textOrList, max_output_length: optionalValue });
const commandOutput = z.object({
  stdout: optionalText,
  stderr: optionalText,
  outcome: z.nullish(z.object({ type: z.string(), exit_code: z.nullish(z.number()) })),
});

const asFunction = {
  description: 'Runs shell commands on the user’s machine, and returns what each printed and its exit code.',
  parameters: {
    type: 'object',
    properties: {
      commands: { type: 'array', items: { type: 'string' }, description: 'Commands, each a line for the shell.' },
      timeout_ms: timeoutParameter,
      max_output_length: { type: ['integer', 'null'], description: 'Characters of output to return; null for all.' },
    },
    required: ['commands'],
    additionalProperties: false,
  },
};

export const shell: ClientTool<ShellCallItem> = {
  tool: toolType(entry, 'type', ({ environment }, at, tools) => {
    if (environment != null && environment.type !== 'local') {
      if (tools.isOwn) {
        const message = `A shell in ${quote(environment.type)} runs on OpenAI's servers and is not available here. Send "environment": {"type": "local"} and run the commands yourself.`;
        throw unsupportedParameter(`${at}.environment`, message);
      }
      tools.dropped.push(`${at}.shell`);
      return false;
    }
    return offerAs('shell', asFunction, at, tools);
  }),
  items: {
    shell_call: itemType(callItem, ({ call_id, action }, at, input) => {
      const wrong = action.commands.findIndex((command) => typeof command !== 'string');
      if (wrong !== -1) throw invalidType(`${at}.action.commands[${wrong}]`, 'a string', action.commands[wrong]);
      addCall('shell', call_id, action, at, input);
    }),
    shell_call_output: itemType(outputItem, ({ call_id, output }, at, input) => {
      addOutput(call_id, typeof output === 'string' ? output : writeOutputs(output, at, input), at, input);
    }),
  },
  idPrefix: 'sh',
  itemOf: (ids, status, { commands, command, timeout_ms, max_output_length }) => ({
    ...ids,
    type: 'shell_call',
    status,
    action: {
      commands: readTexts(commands ?? command),
      timeout_ms: readWhole(timeout_ms),
      max_output_length: readWhole(max_output_length),
    },
    environment: { type: 'local' },
  }),
  isRunnable: ({ action }) => action.commands.length > 0,
  eventsOf: ({ action }, output_index) =>
    action.commands.flatMap((command, command_index) => {
      const place = { output_index, command_index };
      return [
        { type: 'response.shell_call_command.added', ...place, command: '' },
        ...(command === '' ? [] : [{ type: 'response.shell_call_command.delta', ...place, delta: command } as const]),
        { type: 'response.shell_call_command.done', ...place, command },
      ];
    }),
};

/** Each command's output and how it ended, as a terminal would show it. */
function writeOutputs(outputs: readonly unknown[], at: string, input: InputBuilder): string {
  const texts = outputs.map((value, index) => {
    const { stdout, stderr, outcome } = parseFields(commandOutput, value, `${at}.output[${index}]`, input);
    const end =
      outcome?.type === 'timeout'
        ? '[timed out]'
        : outcome?.exit_code == null
          ? ''
          : `[exit code ${outcome.exit_code}]`;
    const printed = [stdout ?? '', stderr == null || stderr === '' ? '' : `[stderr]\n${stderr}`];
    return [...printed.map((text) => text.replace(/\n$/, '')), end].filter((text) => text !== '').join('\n');
  });
  return texts.join('\n');
}
