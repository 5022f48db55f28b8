import type {
  ApplyPatchCallItem,
  ItemStatus,
  LocalShellCallItem,
  ShellCallItem,
} from '../wire/schema/response-resource.ts';
import { jsonOf, objectOf } from './chat/loose.ts';

/**
 * Tools with a type of their own in the API that the client runs: `shell` (local), `local_shell` and `apply_patch`
 * (openai-node 7.57, openai-agents-python#2966). A Chat server is offered each as a function; calls and outputs go back as
 * their own items.
 */
export type ClientToolType = 'shell' | 'local_shell' | 'apply_patch';

export type ClientToolItem = ShellCallItem | LocalShellCallItem | ApplyPatchCallItem;

/** Such a tool as a function. Its Chat name is its type. */
export interface ClientTool {
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Prefix of its items' ids. */
  readonly idPrefix: 'sh' | 'lsh' | 'apc';
  /** The item of a call; `text` is the arguments as the model wrote them, complete or not. */
  itemOf(ids: { readonly id: string; readonly call_id: string }, status: ItemStatus, text: string): ClientToolItem;
}

const seconds = 'Milliseconds after which a command is ended; null for the default.';

export const clientTools: Readonly<Record<ClientToolType, ClientTool>> = {
  shell: {
    description: 'Runs shell commands on the user’s machine, and returns what each printed and its exit code.',
    parameters: {
      type: 'object',
      properties: {
        commands: { type: 'array', items: { type: 'string' }, description: 'Commands, each a line for the shell.' },
        timeout_ms: { type: ['integer', 'null'], description: seconds },
        max_output_length: { type: ['integer', 'null'], description: 'Characters of output to return; null for all.' },
      },
      required: ['commands'],
      additionalProperties: false,
    },
    idPrefix: 'sh',
    itemOf(ids, status, text) {
      const given = objectOf<{
        commands?: unknown;
        command?: unknown;
        timeout_ms?: unknown;
        max_output_length?: unknown;
      }>(jsonOf(text));
      const commands = textsOf(given?.commands ?? given?.command);
      return {
        ...ids,
        type: 'shell_call',
        status,
        action: {
          commands,
          timeout_ms: wholeOf(given?.timeout_ms),
          max_output_length: wholeOf(given?.max_output_length),
        },
        environment: { type: 'local' },
      };
    },
  },
  local_shell: {
    description: 'Runs one command on the user’s machine, without a shell, and returns what it printed.',
    parameters: {
      type: 'object',
      properties: {
        command: { type: 'array', items: { type: 'string' }, description: 'The program and its arguments.' },
        env: { type: 'object', additionalProperties: { type: 'string' }, description: 'Environment variables to set.' },
        timeout_ms: { type: ['integer', 'null'], description: seconds },
        working_directory: { type: ['string', 'null'], description: 'Where it runs; null for the current directory.' },
      },
      required: ['command'],
      additionalProperties: false,
    },
    idPrefix: 'lsh',
    itemOf(ids, status, text) {
      const given = objectOf<{
        command?: unknown;
        env?: unknown;
        timeout_ms?: unknown;
        working_directory?: unknown;
        user?: unknown;
      }>(jsonOf(text));
      const command = textsOf(given?.command);
      const timeout = wholeOf(given?.timeout_ms);
      return {
        ...ids,
        type: 'local_shell_call',
        status,
        action: {
          type: 'exec',
          command,
          env: stringsOf(given?.env),
          ...(timeout === null ? {} : { timeout_ms: timeout }),
          // The AI SDK refuses null for these two; they must be absent.
          ...(typeof given?.user === 'string' ? { user: given.user } : {}),
          ...(typeof given?.working_directory === 'string' ? { working_directory: given.working_directory } : {}),
        },
      };
    },
  },
  apply_patch: {
    description:
      'Creates, updates or deletes one file. `diff` is a V4A diff: for a new file each line begins with `+`; for an ' +
      'update, `@@` and lines of context beginning with a space, removed ones with `-`, added ones with `+`.',
    parameters: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
        path: { type: 'string', description: 'The file, relative to the workspace.' },
        diff: { type: ['string', 'null'], description: 'The change; null to delete the file.' },
      },
      required: ['type', 'path', 'diff'],
      additionalProperties: false,
    },
    idPrefix: 'apc',
    itemOf(ids, status, text) {
      const outer = objectOf<{ operation?: unknown }>(jsonOf(text));
      const given = objectOf<{ type?: unknown; path?: unknown; diff?: unknown }>(outer?.operation ?? outer);
      const type = given?.type;
      const isKnown = type === 'create_file' || type === 'update_file' || type === 'delete_file';
      const path = isKnown && typeof given?.path === 'string' ? given.path : '';
      const diff = typeof given?.diff === 'string' ? given.diff : '';
      return {
        ...ids,
        type: 'apply_patch_call',
        status,
        operation: type === 'delete_file' ? { type, path } : { type: isKnown ? type : 'update_file', path, diff },
      };
    },
  },
};

export function isClientToolType(type: string): type is ClientToolType {
  return Object.hasOwn(clientTools, type);
}

/** Whether an item contains something to run; unreadable arguments leave it empty. */
export function isRunnable(item: ClientToolItem): boolean {
  switch (item.type) {
    case 'shell_call':
      return item.action.commands.length > 0;
    case 'local_shell_call':
      return item.action.command.length > 0;
    case 'apply_patch_call':
      return item.operation.path !== '';
  }
}

/** A list of texts; models also write one alone. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

function stringsOf(value: unknown): Record<string, string> {
  const entries = Object.entries(objectOf<Record<string, unknown>>(value) ?? {});
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

function wholeOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
