import * as z from 'zod/mini';
import { objectOf, textOf } from '../../../formats/json/loose.ts';
import { callId, jsonObject, optionalText } from '../../wire/schema/create-response.ts';
import type { ClientToolCallItem } from '../../wire/schema/response-resource.ts';
import { itemType } from '../request-to-chat/parse/input-builder.ts';
import { addCall, addOutput, type ClientTool, plainTool } from './client-tool.ts';

interface ApplyPatchCallItem extends ClientToolCallItem {
  readonly type: 'apply_patch_call';
  readonly operation:
    | { readonly type: 'create_file' | 'update_file'; readonly path: string; readonly diff: string }
    | { readonly type: 'delete_file'; readonly path: string };
}

const callItem = z.object({ call_id: callId, operation: jsonObject });
const outputItem = z.object({ call_id: callId, status: optionalText, output: optionalText });

const asFunction = {
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
};

/** A change of one file, by the built-in tool. Codex's tool of that name is a custom tool. */
export const applyPatch: ClientTool<ApplyPatchCallItem> = {
  tool: plainTool('apply_patch', asFunction),
  items: {
    apply_patch_call: itemType(callItem, ({ call_id, operation }, at, input) => {
      addCall('apply_patch', call_id, operation, at, input);
    }),
    apply_patch_call_output: itemType(outputItem, ({ call_id, status, output }, at, input) => {
      const texts = [status ?? '', output ?? ''].filter((text) => text !== '');
      addOutput(call_id, texts.join(': '), at, input);
    }),
  },
  idPrefix: 'apc',
  itemOf(ids, status, given) {
    const { operation } = given;
    const { type, ...named } = objectOf<{ type?: unknown; path?: unknown; diff?: unknown }>(operation ?? given) ?? {};
    const isKnown = type === 'create_file' || type === 'update_file' || type === 'delete_file';
    const path = isKnown ? textOf(named.path) : '';
    const diff = textOf(named.diff);
    return {
      ...ids,
      type: 'apply_patch_call',
      status,
      operation: type === 'delete_file' ? { type, path } : { type: isKnown ? type : 'update_file', path, diff },
    };
  },
  isRunnable: ({ operation }) => operation.path !== '',
};
