import {
  applyPatchCallItem,
  applyPatchOutputItem,
  localShellCallItem,
  shellCallItem,
  shellOutput,
  shellOutputItem,
} from '../../../schema/create-response.ts';
import type { ClientToolType } from '../../client-tools.ts';
import { invalidType, missingParameter } from '../errors.ts';
import { readShape } from './shape.ts';

/** A call of a tool that the client runs, or what came of one, as a function's. */
export type ClientToolHistory =
  | { readonly kind: 'call'; readonly tool: ClientToolType; readonly callId: string; readonly input: string }
  | { readonly kind: 'output'; readonly callId: string; readonly text: string };

/** The item at `at` as a function call or its output; null for items of any other type. Throws `ApiError`. */
export function parseClientToolItem(
  type: string,
  item: Readonly<Record<string, unknown>>,
  at: string,
): ClientToolHistory | null {
  switch (type) {
    case 'shell_call': {
      const { call_id, action } = readShape(shellCallItem, item, at);
      const wrong = action.commands.findIndex((command) => typeof command !== 'string');
      if (wrong !== -1) throw invalidType(`${at}.action.commands[${wrong}]`, 'a string', action.commands[wrong]);
      return { kind: 'call', tool: 'shell', callId: call_id, input: JSON.stringify(withoutNulls(action)) };
    }
    case 'shell_call_output': {
      const { call_id, output } = readShape(shellOutputItem, item, at);
      return { kind: 'output', callId: call_id, text: typeof output === 'string' ? output : textOfShell(output, at) };
    }
    case 'local_shell_call': {
      const { call_id, action } = readShape(localShellCallItem, item, at);
      const { type: _exec, ...given } = action;
      return { kind: 'call', tool: 'local_shell', callId: call_id, input: JSON.stringify(withoutNulls(given)) };
    }
    case 'local_shell_call_output': {
      // The API's own type has the call's id as `id`; clients send `call_id`.
      const { call_id = item['id'], output } = item;
      if (typeof call_id !== 'string' || call_id === '') throw missingParameter(`${at}.call_id`);
      return {
        kind: 'output',
        callId: call_id,
        text: typeof output === 'string' ? output : JSON.stringify(output ?? ''),
      };
    }
    case 'apply_patch_call': {
      const { call_id, operation } = readShape(applyPatchCallItem, item, at);
      return { kind: 'call', tool: 'apply_patch', callId: call_id, input: JSON.stringify(withoutNulls(operation)) };
    }
    case 'apply_patch_call_output': {
      const { call_id, status, output } = readShape(applyPatchOutputItem, item, at);
      const texts = [status ?? '', output ?? ''].filter((text) => text !== '');
      return { kind: 'output', callId: call_id, text: texts.join(': ') };
    }
    default:
      return null;
  }
}

/** Each command's output with how it ended, as a terminal would show it. */
function textOfShell(outputs: readonly unknown[], at: string): string {
  const texts = outputs.map((value, index) => {
    const { stdout, stderr, outcome } = readShape(shellOutput, value, `${at}.output[${index}]`);
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

function withoutNulls(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== null && entry !== undefined));
}
