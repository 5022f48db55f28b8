import {
  applyPatchCallItem,
  applyPatchOutputItem,
  localShellCallItem,
  localShellOutputItem,
  shellCallItem,
  shellOutput as shellOutputEntry,
  shellOutputItem,
} from '../../../../wire/schema/create-response.ts';
import type { ClientToolType } from '../../../client-tools.ts';
import { invalidType, missingParameter } from '../../request-errors.ts';
import { readShape } from '../read-shape.ts';
import { callOf } from './function-call-items.ts';
import { type InputBuilder, itemType } from './input-builder.ts';

/** Calls and outputs of the tools that clients run and that have types of their own, as a function's. */

export const shellCall = itemType(
  shellCallItem,
  ({ call_id, action }, at, input) => {
    const wrong = action.commands.findIndex((command) => typeof command !== 'string');
    if (wrong !== -1) throw invalidType(`${at}.action.commands[${wrong}]`, 'a string', action.commands[wrong]);
    addCall('shell', call_id, action, at, input);
  },
  ['environment'],
);

export const shellOutput = itemType(
  shellOutputItem,
  ({ call_id, output }, at, input) => {
    addOutput(call_id, typeof output === 'string' ? output : textOfShell(output, at), at, input);
  },
  ['max_output_length'],
);

export const localShellCall = itemType(localShellCallItem, ({ call_id, action }, at, input) => {
  const { type: _exec, ...given } = action;
  addCall('local_shell', call_id, given, at, input);
});

export const localShellOutput = itemType(localShellOutputItem, ({ call_id, id, output }, at, input) => {
  const callId = call_id ?? id;
  if (typeof callId !== 'string' || callId === '') throw missingParameter(`${at}.call_id`);
  addOutput(callId, typeof output === 'string' ? output : output == null ? '' : JSON.stringify(output), at, input);
});

export const applyPatchCall = itemType(applyPatchCallItem, ({ call_id, operation }, at, input) => {
  addCall('apply_patch', call_id, operation, at, input);
});

export const applyPatchOutput = itemType(applyPatchOutputItem, ({ call_id, status, output }, at, input) => {
  const texts = [status ?? '', output ?? ''].filter((text) => text !== '');
  addOutput(call_id, texts.join(': '), at, input);
});

function addCall(tool: ClientToolType, callId: string, given: object, at: string, input: InputBuilder): void {
  const set = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  input.add(callOf({ call_id: callId, name: tool }, JSON.stringify(Object.fromEntries(set)), at));
}

function addOutput(callId: string, text: string, at: string, input: InputBuilder): void {
  input.add({ kind: 'output', param: at, callId, content: input.textContent(text, `${at}.output`) });
}

/** Each command's output with how it ended, as a terminal would show it. */
function textOfShell(outputs: readonly unknown[], at: string): string {
  const texts = outputs.map((value, index) => {
    const { stdout, stderr, outcome } = readShape(shellOutputEntry, value, `${at}.output[${index}]`);
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
