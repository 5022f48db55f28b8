import type { ContentPart } from './content.ts';
import type { CallItem, InputItem, OutputItem } from './items.ts';
import { invalidValue, quote } from './shape.ts';

/** A call with what came back for it. */
export interface PairedCall extends CallItem {
  /** Contents of its outputs, in order. */
  readonly outputs: ContentPart[][];
  /** No output came; one was made up. */
  abandoned: boolean;
}

/** An output as the walk over the items meets it: its content is with the call it answers. */
export interface PairedOutput {
  readonly kind: 'answer';
  readonly call: PairedCall;
}

export type PairedItem = Exclude<InputItem, CallItem | OutputItem> | PairedCall | PairedOutput;

/**
 * Gives every call its outputs. Ids repeat from turn to turn with some servers (`call_0`), so an output belongs to the
 * most recent call of that id that has none yet; a further output of an answered call is added to it. A call without
 * output and an output without call are refused or made whole, as the settings say.
 */
export function pairCalls(
  items: readonly InputItem[],
  settings: { readonly orphanOutputs: 'reject' | 'synthesize'; readonly missingOutputs: 'reject' | 'synthesize' },
): readonly PairedItem[] {
  if (items.every(standsAlone)) return items;
  const paired: PairedItem[] = [];
  const calls: PairedCall[] = [];
  const open = new Map<string, PairedCall[]>();
  const answered = new Map<string, PairedCall>();
  let orphan: OutputItem | null = null;

  const addCall = (item: CallItem): void => {
    const call: PairedCall = { ...item, outputs: [], abandoned: false };
    calls.push(call);
    paired.push(call);
    const waiting = open.get(call.callId);
    if (waiting === undefined) open.set(call.callId, [call]);
    else waiting.push(call);
  };

  const addOutput = (item: OutputItem): void => {
    const call = open.get(item.callId)?.pop() ?? answered.get(item.callId);
    if (call === undefined) {
      orphan ??= item;
      if (settings.orphanOutputs === 'reject') return;
      addCall(madeUpCall(item));
      addOutput(item);
      return;
    }
    call.outputs.push([...item.content]);
    answered.set(item.callId, call);
    paired.push({ kind: 'answer', call });
  };

  for (const item of items) {
    if (item.kind === 'call') addCall(item);
    else if (item.kind === 'output') addOutput(item);
    else paired.push(item);
  }

  const unanswered =
    settings.missingOutputs === 'reject' ? calls.find(({ outputs }) => outputs.length === 0) : undefined;
  const refused = settings.orphanOutputs === 'reject' ? orphan : null;
  throwFirst(items, unanswered, refused);
  for (const call of calls) {
    if (call.outputs.length > 0) continue;
    call.outputs.push([{ type: 'text', text: 'aborted' }]);
    call.abandoned = true;
  }
  return paired;
}

function standsAlone(item: InputItem): item is Exclude<InputItem, CallItem | OutputItem> {
  return item.kind === 'message' || item.kind === 'reasoning';
}

/** Of an unanswered call and an orphan, the one that stands first is named. */
function throwFirst(items: readonly InputItem[], unanswered: PairedCall | undefined, orphan: OutputItem | null): void {
  if (unanswered === undefined && orphan === null) return;
  for (const item of items) {
    if (item.kind === 'call' && item.param === unanswered?.param) throw missingOutput(item);
    if (item === orphan) throw orphanOutput(orphan);
  }
}

function orphanOutput({ param, callId }: OutputItem): Error {
  return invalidValue(
    `${param}.call_id`,
    `No tool call found for function call output with call_id ${quote(callId)}. Send the function_call item before it.`,
  );
}

function missingOutput({ param, callId }: CallItem): Error {
  return invalidValue(
    param,
    `No tool output found for function call ${quote(callId)}. Send a function_call_output item with this call_id after it.`,
  );
}

function madeUpCall({ param, callId }: OutputItem): CallItem {
  return { kind: 'call', param, callId, toolKind: 'function', name: 'unknown_tool', namespace: null, input: '{}' };
}
