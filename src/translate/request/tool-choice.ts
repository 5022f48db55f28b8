import type { z } from 'zod';
import { allowedToolsChoice, isJsonObject, namedToolChoice } from '../../schema/create-response.ts';
import type { TranslationSettings } from '../settings.ts';
import { invalidValue, missingParameter, quote, readShape, unsupportedValue } from './shape.ts';
import type { OfferedTool, ToolTable } from './tools.ts';

export interface ToolChoice {
  /** Chat's `tool_choice`; undefined leaves it out. */
  readonly chat: unknown;
  /** The tools to offer. */
  readonly tools: readonly OfferedTool[];
  /** The only names the answer may call; null when the request sets no bound. */
  readonly allowed: ReadonlySet<string> | null;
  /** What the Response repeats. */
  readonly echo: unknown;
}

const param = 'tool_choice';
const modes = ['auto', 'none', 'required'];

/**
 * `tool_choice` and the tools that go with it, as the profile's server can be told. Throws for a choice that names no
 * offered tool. `dropped` receives `tool_choice` where the server does not listen to it.
 */
export function translateToolChoice(
  choice: string | Record<string, unknown> | null | undefined,
  table: ToolTable,
  settings: TranslationSettings,
  dropped: string[],
): ToolChoice {
  const { toolChoice: support } = settings.profile;
  const all = [...table.offered.values()];
  if (choice == null) return { chat: undefined, tools: all, allowed: null, echo: 'auto' };
  if (typeof choice === 'string') {
    if (!modes.includes(choice)) {
      throw invalidValue(
        param,
        `Invalid value: ${quote(choice)} for 'tool_choice'. Supported values are: ${modes.map(quote).join(', ')}, or an object.`,
      );
    }
    return { ...choiceOfMode(choice, all), allowed: null, echo: choice };
  }
  const type = choice['type'];
  switch (type) {
    case 'function':
    case 'custom': {
      if (choice['name'] === undefined && isJsonObject(choice[type])) {
        throw missingParameter('tool_choice.name', `This API takes it flat: {"type": "${type}", "name": …}.`);
      }
      const tool = offeredBy(readShape(namedToolChoice, choice, param), param);
      return { ...choiceOfOne(tool), allowed: null, echo: echoOf(type, choice) };
    }
    case 'allowed_tools':
      return choiceOfAllowed(readShape(allowedToolsChoice, choice, param));
    default:
      if (type == null) throw missingParameter('tool_choice.type');
      throw unsupportedValue(
        param,
        `'tool_choice' of type ${quote(type)} needs a tool the server runs. Supported are 'auto', 'none', 'required', and objects of type 'function', 'custom', 'allowed_tools'.`,
      );
  }

  /** One of the three words, over these tools. */
  function choiceOfMode(mode: string, tools: readonly OfferedTool[]): Pick<ToolChoice, 'chat' | 'tools'> {
    if (mode === 'required') {
      if (tools.length === 0) throw invalidValue(param, `'tool_choice' is 'required', but no tools are offered.`);
      if (!support.sent) {
        dropped.push(param);
        return { chat: undefined, tools };
      }
      if (support.required === null) {
        throw unsupportedValue(
          param,
          `This upstream cannot be told to call some tool. Use 'auto', or name a function: {"type": "function", "name": …}.`,
        );
      }
      return { chat: support.required, tools };
    }
    if (!support.sent) return { chat: undefined, tools: mode === 'none' ? [] : tools };
    return { chat: tools.length === 0 ? undefined : mode, tools };
  }

  /** One tool by name: said, or offered alone with “required”. */
  function choiceOfOne(tool: OfferedTool): Pick<ToolChoice, 'chat' | 'tools'> {
    if (support.named) {
      const chat = tool.chat['type'] === 'custom' ? customByName(tool.name) : functionByName(tool.name);
      return { chat, tools: all };
    }
    return choiceOfMode('required', [tool]);
  }

  function choiceOfAllowed({ mode, tools }: z.output<typeof allowedToolsChoice>): ToolChoice {
    const listed = tools.map((entry, index) => {
      const at = `${param}.tools[${index}]`;
      if (entry['type'] !== 'function' && entry['type'] !== 'custom') {
        throw unsupportedValue(`${at}.type`, `Only tools of type 'function' and 'custom' can be allowed here.`);
      }
      return offeredBy(readShape(namedToolChoice, entry, at), at);
    });
    const allowed = new Set(listed.map(({ name }) => name));
    const echo = {
      type: 'allowed_tools',
      tools: tools.map((entry) => echoOf(String(entry['type']), entry)),
      mode: mode ?? 'auto',
    };
    if (support.allowed) {
      const chatTools = listed.map(({ name, chat }) =>
        chat['type'] === 'custom' ? customByName(name) : functionByName(name),
      );
      const chat = { type: 'allowed_tools', allowed_tools: { mode: mode ?? 'auto', tools: chatTools } };
      return { chat: mode === 'none' ? 'none' : chat, tools: all, allowed, echo };
    }
    // Offering fewer changes the prompt, and with it what the upstream has cached; it is the only way to say it.
    const offered = all.filter(({ name }) => allowed.has(name));
    return { ...choiceOfMode(mode ?? 'auto', offered), allowed, echo };
  }

  function offeredBy({ name, namespace }: z.output<typeof namedToolChoice>, at: string): OfferedTool {
    const tool = table.find(name, namespace);
    if (tool === undefined) throw invalidValue(at, `Tool choice ${quote(name)} not found in 'tools'.`);
    return tool;
  }

  function echoOf(kind: string, given: Record<string, unknown>): unknown {
    const namespace = given['namespace'];
    // The published schema knows functions alone.
    const echoed = settings.strictEcho ? 'function' : kind;
    return { type: echoed, name: given['name'], ...(namespace == null || settings.strictEcho ? {} : { namespace }) };
  }
}

function functionByName(name: string): unknown {
  return { type: 'function', function: { name } };
}

function customByName(name: string): unknown {
  return { type: 'custom', custom: { name } };
}
