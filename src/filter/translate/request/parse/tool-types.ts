import { clientTools } from '../../client-tools/client-tools.ts';
import { customTools, functionTools, namespaceTools } from './function-tools.ts';
import type { ToolType } from './tools-builder.ts';

/** Every type of tool with a rule. Any other is left out, or refused. */
export const toolTypes: ReadonlyMap<string, ToolType> = new Map([
  ['function', functionTools],
  ['custom', customTools],
  ['namespace', namespaceTools],
  ...Object.entries(clientTools).map(([type, { tool }]) => [type, tool] as const),
]);
