/** The state diagrams of `docs/architecture.md`, drawn from the tables of moves. */
import { requestMoves, responseMoves } from '../../src/filter/index.ts';
import { flowMoves } from '../../src/service/memory/flow-phases.ts';
import { callMoves } from '../../src/service/server/call-phases.ts';
import { connectionMoves, turnMoves } from '../../src/service/websocket/websocket-phases.ts';
import { documentsWith, type Generator } from './generator.ts';

export const stateDiagrams: Generator = {
  name: 'state diagrams',
  source: 'the `*Moves` of src/filter/exchange/phases.ts and src/service/*/*-phases.ts',
  files: () => {
    const legs = `The request leg:\n\n${diagramOf(requestMoves)}\n\nThe response leg:\n\n${diagramOf(responseMoves)}`;
    const websocket = `A connection:\n\n${diagramOf(connectionMoves)}\n\nA turn:\n\n${diagramOf(turnMoves)}`;
    return documentsWith({
      'docs/architecture.md': {
        legs,
        call: diagramOf(callMoves),
        flow: diagramOf(flowMoves),
        websocket,
      },
    });
  },
};

type Table = Readonly<Record<string, Readonly<Partial<Record<string, readonly string[]>>>>>;

/** One arrow per pair of phases, with the events that go that way; a phase nothing leaves leads to the end. The first is the start. */
function diagramOf(table: Table): string {
  const lines: string[] = [];
  for (const [from, moves] of Object.entries(table)) {
    const events = new Map<string, string[]>();
    for (const [event, targets = []] of Object.entries(moves))
      for (const to of targets) events.set(to, [...(events.get(to) ?? []), event.replace(/^(request|response)_/, '')]);
    for (const [to, names] of events) if (to !== from) lines.push(`  ${from} --> ${to}: ${names.join(', ')}`);
    const stays = events.get(from) ?? [];
    const isLast = [...events.keys()].every((to) => to === from);
    if (isLast) lines.push(`  ${from} --> [*]`);
    else if (stays.length > 0) lines.push(`  ${from} --> ${from}: ${stays.join(', ')}`);
  }
  return ['```mermaid', 'stateDiagram-v2', `  [*] --> ${Object.keys(table)[0]}`, ...lines, '```'].join('\n');
}
