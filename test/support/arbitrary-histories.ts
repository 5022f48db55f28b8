import fc from 'fast-check';
import { templates } from './arbitrary-dialogues.ts';
import type { Marks } from './scripted-answers.ts';
import { type Item, type ToolKind, type ToolKindName, toolKindNames, toolKinds } from './tool-kinds.ts';

/** Conversations at random, as clients and other gateways repeat them, with what must become of each part. */

interface MessagePlan {
  readonly type: 'message';
  readonly role: 'user' | 'assistant' | 'developer' | 'system';
  readonly text: string;
  readonly form: 'text' | 'part' | 'parts';
  readonly hasPicture: boolean;
}

/** Calls that the model made at once, with what it said around them, and their outputs. */
interface RoundPlan {
  readonly type: 'round';
  readonly reasoning: string | null;
  readonly before: string | null;
  readonly calls: readonly { readonly tool: ToolKindName; readonly text: string; readonly after: string | null }[];
  /** Who says something between the calls and their outputs. */
  readonly note: 'user' | 'developer' | null;
  readonly isReversed: boolean;
  readonly ids: 'unique' | 'anew' | 'same' | 'suffixed';
  /** Outputs of functions name their tool and not their call. */
  readonly namesTools: boolean;
  /** A limit cut the last call, so that nobody has answered it. */
  readonly isCut: boolean;
}

const otherItems = {
  reasoning: (text: string) => ({ id: 'rs_1', summary: [{ type: 'summary_text', text }] }),
  web_search_call: (query: string) => ({ status: 'completed', action: { type: 'search', query } }),
  code_interpreter_call: (code: string) => ({ status: 'completed', code, outputs: [] }),
  mcp_call: (output: string) => ({ name: 'find', server_label: 'files', arguments: '{}', output }),
  agent_message: (text: string) => ({ author: 'a', recipient: 'b', content: [{ type: 'input_text', text }] }),
  additional_tools: () => ({ role: 'developer', tools: [] }),
  configuration_update: () => ({ reasoning: { effort: 'low' } }),
  item_reference: () => ({ id: 'rs_1' }),
} as const;

interface OtherPlan {
  readonly type: keyof typeof otherItems;
  readonly text: string;
}

export type Plan = MessagePlan | RoundPlan | OtherPlan;

const rarely = fc.integer({ min: 0, max: 3 }).map((number) => number === 1);
const maybe = fc.option(templates, { freq: 2 });

export const histories: fc.Arbitrary<readonly Plan[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant<'message'>('message'),
        role: fc.constantFrom('user', 'user', 'assistant', 'developer', 'system'),
        text: templates,
        form: fc.constantFrom('text', 'part', 'parts'),
        hasPicture: rarely,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant<'round'>('round'),
        reasoning: maybe,
        before: maybe,
        calls: fc.array(fc.record({ tool: fc.constantFrom(...toolKindNames), text: templates, after: maybe }), {
          minLength: 1,
          maxLength: 3,
        }),
        note: fc.option(fc.constantFrom('user', 'developer'), { freq: 2 }),
        isReversed: fc.boolean(),
        ids: fc.constantFrom('unique', 'anew', 'same', 'suffixed'),
        namesTools: rarely,
        isCut: rarely,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constantFrom(...(Object.keys(otherItems) as OtherPlan['type'][])),
        text: templates,
      }),
    },
  ),
  { minLength: 1, maxLength: 7 },
);

/** A history as its items, and what must become of it. */
export class History {
  readonly items: Item[] = [];
  /** The marks of what was said, called and answered, in the order in which the model must read them. */
  readonly read: { readonly by: 'asker' | 'model' | 'call' | 'output'; readonly mark: string }[] = [];
  /** Each call with its output. */
  readonly pairs: string[] = [];
  /** Calls that were made at once, and can be told apart. */
  readonly together: (readonly string[])[] = [];
  /** Pictures that are asked about now. */
  latestPictures: string[] = [];
  readonly #marks: Marks;

  constructor(plans: readonly Plan[], marks: Marks) {
    this.#marks = marks;
    this.#addMessage({ type: 'message', role: 'user', text: '#', form: 'text', hasPicture: false });
    for (const [index, plan] of plans.entries()) {
      if (plan.type === 'message') this.#addMessage(plan);
      else if (plan.type === 'round') this.#addRound(plan, index);
      else this.#addOther(plan);
    }
  }

  #addMessage({ role, text, form, hasPicture }: MessagePlan): void {
    const by = role === 'assistant' ? 'model' : 'asker';
    const type = role === 'assistant' ? 'output_text' : 'input_text';
    const texts = [text, ...(form === 'parts' ? [text] : [])].map((template) => this.#say(template, by));
    const parts: object[] = texts.map((one) => ({ type, text: one }));
    if (by === 'model') this.latestPictures = [];
    if (role === 'user' && hasPicture) {
      const mark = this.#marks.in('#');
      this.latestPictures.push(mark);
      parts.push({ type: 'input_image', image_url: `https://${mark}.test/a.png` });
    }
    this.items.push({ type: 'message', role, content: form === 'text' && parts.length === 1 ? texts[0] : parts });
  }

  #addRound(plan: RoundPlan, number: number): void {
    const { reasoning, before, note, ids, isReversed, namesTools } = plan;
    this.latestPictures = [];
    if (reasoning !== null) this.#addOther({ type: 'reasoning', text: reasoning });
    if (before !== null)
      this.#addMessage({ type: 'message', role: 'assistant', text: before, form: 'part', hasPicture: false });
    const isCut = plan.isCut && ids !== 'same' && !namesTools;
    // Without any output, nothing would say where the round ends.
    const last = isCut && plan.calls.length > 1 ? plan.calls.length - 1 : -1;
    const made = plan.calls.map(({ tool, text, after }, index) => {
      const kind: ToolKind = toolKinds[tool];
      const id = {
        unique: `call_${number}_${index}`,
        anew: `call_${index}`,
        same: 'call_0',
        suffixed: index === 0 ? 'a' : `a_repeat${index + 1}`,
      }[ids];
      const mark = this.#marks.in('#');
      this.items.push({
        ...kind.call(id, text.replaceAll('#', mark)),
        ...(index === last && { status: 'incomplete' }),
      });
      this.read.push({ by: 'call', mark });
      if (after !== null)
        this.#addMessage({ type: 'message', role: 'assistant', text: after, form: 'part', hasPicture: false });
      return { kind, id, mark };
    });
    if (ids !== 'same') this.together.push(made.map(({ mark }) => mark));
    const outputs = made.flatMap(({ kind, id, mark }, index): Item[] => {
      if (index === last) return [];
      const output = this.#marks.in('out#');
      this.read.push({ by: 'output', mark: output.slice('out'.length) });
      this.pairs.push(`${mark} ${output.slice('out'.length)}`);
      const { call_id, ...item } = kind.output(id, output);
      const { name, namespace } = kind;
      return namesTools && kind.keepsText
        ? [{ ...item, name, ...(namespace && { namespace }) }]
        : [{ ...item, call_id }];
    });
    const isFree = ids !== 'same' && !namesTools;
    if (note !== null) this.#addMessage({ type: 'message', role: note, text: '#', form: 'text', hasPicture: false });
    this.items.push(...(isReversed && isFree ? outputs.toReversed() : outputs));
    this.latestPictures = [];
  }

  #addOther({ type, text }: OtherPlan): void {
    const isRead = type === 'web_search_call' || type === 'code_interpreter_call' || type === 'mcp_call';
    const by = type === 'agent_message' ? 'asker' : isRead ? 'model' : null;
    if (type !== 'agent_message' && type !== 'additional_tools' && type !== 'configuration_update')
      this.latestPictures = [];
    this.items.push({ type, ...otherItems[type](by === null ? this.#marks.in(text) : this.#say(text, by)) });
  }

  #say(template: string, by: 'asker' | 'model'): string {
    const mark = this.#marks.in('#');
    this.read.push({ by, mark });
    return template.replaceAll('#', mark);
  }
}
