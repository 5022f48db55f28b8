/** Kinds of names in `x-responses-dropped`, as the counter's label: docs/mapping.md, "Reading x-responses-dropped". */
export const droppedKinds = ['content', 'reasoning', 'tool', 'field'] as const;
type DroppedKind = (typeof droppedKinds)[number];

/**
 * The kind of a name: an item or a part that the model does not see, earlier reasoning, a tool that it is not offered, or a
 * field that is not sent. The first three have an index before their type; a field is named once for all of its places.
 */
export function droppedKind(name: string): DroppedKind {
  const ofTool = /\btools\[\d+\]\.(?!tools\[)(strict$|parameters\.)?/.exec(name);
  if (ofTool !== null) return ofTool[1] === undefined ? 'tool' : 'field';
  if (name === 'input[].reasoning' || name.endsWith('.item_reference')) return 'reasoning';
  return name === 'input[].content' || /^input\[\d+\]\./.test(name) ? 'content' : 'field';
}
