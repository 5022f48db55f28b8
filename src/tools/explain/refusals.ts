import { toolNamePattern } from '../../filter/index.ts';
import { findValue, isSameJson, type Path, readPath, readRecord, removeValue, replaceValue } from './fields.ts';
import type { RefusedRun, RequestRun } from './run-request.ts';

export interface RefusedBody {
  readonly body: unknown;
  /** True after a repair that separated a call from its output, which is not the client's mistake. */
  readonly isLenient: boolean;
  readonly run: RefusedRun;
}

const maxRefusals = 20;

/**
 * The refusal of a body, and those that would follow if each mistake were repaired in turn. Mistakes that only a repair
 * causes are not among them: a call or a tool that is replaced keeps its id or name, which others refer to.
 */
export function listRefusals(
  first: RefusedRun,
  body: unknown,
  rerun: (value: unknown, isLenient: boolean) => RequestRun,
): readonly RefusedBody[] {
  let last: RefusedBody = { body, isLenient: false, run: first };
  const found = [last];
  while (found.length < maxRefusals) {
    const mended = repair(last);
    if (mended === null) break;
    const run = rerun(mended.body, mended.isLenient);
    if (run.type !== 'refused' || isSameJson(run.error, last.run.error)) break;
    last = { ...mended, run };
    found.push(last);
  }
  return found;
}

/** Repairs the mistake that a refusal names; null if the error names nothing that could be repaired. */
function repair({ body, isLenient, run }: RefusedBody): Pick<RefusedBody, 'body' | 'isLenient'> | null {
  const { param } = run.error;
  const path = param === null ? null : readPath(param);
  if (param === null || path === null) return null;
  const [name] = path;
  if (name === 'tool_choice') return { body: removeValue(body, [name]), isLenient };
  // An item, a part, a tool or a format as a whole: if only the field were removed, it would be refused for lacking it.
  const element = path.slice(0, path.findLastIndex((step) => typeof step === 'number') + 1);
  const place = element.length === 0 ? path.slice(0, 2) : element;
  const value = findValue(body, place);
  if (value === undefined) return null;
  if (place.length === 1 && name === 'tools')
    return { body: removeValue(removeValue(body, place), ['tool_choice']), isLenient };
  const harmless = buildHarmlessValue(place, value, param);
  return {
    // The other elements of a list keep their indices.
    body: harmless === null ? removeValue(body, place) : replaceValue(body, place, harmless),
    isLenient: isLenient || hasNoPartner(place, value),
  };
}

/** A harmless value that is accepted at this place; null if the place must be left out. */
function buildHarmlessValue(place: Path, value: unknown, param: string): unknown {
  const [list, index, inner] = [place[0], place.at(-1), place.at(-2)];
  if (place.length === 1) return { model: 'model', input: '…' }[String(list)] ?? null;
  if (list === 'include') return 'reasoning.encrypted_content';
  if (list === 'tools') {
    const name = findValue(value, ['name']);
    const isUsable = typeof name === 'string' && toolNamePattern.test(name) && !param.endsWith('.name');
    return { type: 'function', name: isUsable ? name : `removed_${index}` };
  }
  if (list === 'input' && place.length === 2) return buildHarmlessItem(value, param);
  return inner === 'content' || inner === 'output' ? { type: 'input_text', text: '…' } : null;
}

/** Builds a harmless item in place of a refused one. A call keeps its id for its output's sake. */
function buildHarmlessItem(value: unknown, param: string): unknown {
  const { call_id, type } = readRecord(value) ?? {};
  const isPairing = param.endsWith('.call_id') || param.endsWith(']');
  if (typeof call_id !== 'string' || call_id === '' || isPairing)
    return { type: 'message', role: 'user', content: '…' };
  return /_output$/.test(String(type))
    ? { type: 'function_call_output', call_id, output: '…' }
    : { type: 'function_call', call_id, name: 'removed', arguments: '{}' };
}

/** Whether the item is a call or an output without a usable id, which leaves its partner without one. */
function hasNoPartner(place: Path, value: unknown): boolean {
  const { call_id, type } = readRecord(value) ?? {};
  const isOfPair = place[0] === 'input' && place.length === 2 && /_call(_output)?$/.test(String(type));
  return isOfPair && (typeof call_id !== 'string' || call_id === '');
}
