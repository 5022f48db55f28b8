import * as z from 'zod/mini';
import { objectOf } from '../../../formats/json/loose.ts';
import { callId, jsonObject, optionalValue } from '../../wire/schema/create-response.ts';
import type { ClientToolCallItem } from '../../wire/schema/response-resource.ts';
import { itemType } from '../request-to-chat/parse/input-builder.ts';
import { missingParameter } from '../shared/request-errors.ts';
import {
  addCall,
  addOutput,
  type ClientTool,
  plainTool,
  readTexts,
  readWhole,
  timeoutParameter,
} from './client-tool.ts';

interface LocalShellCallItem extends ClientToolCallItem {
  readonly type: 'local_shell_call';
  readonly action: {
    readonly type: 'exec';
    readonly command: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly timeout_ms?: number;
    readonly user?: string;
    readonly working_directory?: string;
  };
}

const callItem = z.object({ call_id: callId, action: jsonObject });
/** The API's own type has the call's id as `id`; clients send `call_id`. */
const outputItem = z.object({
  call_id: optionalValue,
  id: optionalValue,
  output: optionalValue,
});

const asFunction = {
  description: 'Runs one command on the user’s machine, without a shell, and returns what it printed.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'array', items: { type: 'string' }, description: 'The program and its arguments.' },
      env: { type: 'object', additionalProperties: { type: 'string' }, description: 'Environment variables to set.' },
      timeout_ms: timeoutParameter,
      working_directory: { type: ['string', 'null'], description: 'Where it runs; null for the current directory.' },
    },
    required: ['command'],
    additionalProperties: false,
  },
};

export const localShell: ClientTool<LocalShellCallItem> = {
  tool: plainTool('local_shell', asFunction),
  items: {
    local_shell_call: itemType(callItem, ({ call_id, action }, at, input) => {
      const { type: _exec, ...given } = action;
      addCall('local_shell', call_id, given, at, input);
    }),
    local_shell_call_output: itemType(outputItem, ({ call_id, id, output }, at, input) => {
      const callId = call_id ?? id;
      if (typeof callId !== 'string' || callId === '') throw missingParameter(`${at}.call_id`);
      addOutput(callId, typeof output === 'string' ? output : output == null ? '' : JSON.stringify(output), at, input);
    }),
  },
  idPrefix: 'lsh',
  itemOf(ids, status, { command, env, timeout_ms, working_directory, user }) {
    const timeout = readWhole(timeout_ms);
    return {
      ...ids,
      type: 'local_shell_call',
      status,
      action: {
        type: 'exec',
        command: readTexts(command),
        env: readStrings(env),
        ...(timeout === null ? {} : { timeout_ms: timeout }),
        // The AI SDK refuses null for these two.
        ...(typeof user === 'string' ? { user } : {}),
        ...(typeof working_directory === 'string' ? { working_directory } : {}),
      },
    };
  },
  isRunnable: ({ action }) => action.command.length > 0,
};

function readStrings(value: unknown): Record<string, string> {
  const entries = Object.entries(objectOf<Record<string, unknown>>(value) ?? {});
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
