import { attacks, smallHolderAttacks, windowAttacks } from './attacks.ts';
import { webSocketAttacks } from './websocket-attacks.ts';

/** Every attack by its name, with the listener that it is for. */
export const everyAttack: readonly (readonly [string, 'calls' | 'sockets'])[] = [
  ...Object.keys({ ...attacks, ...smallHolderAttacks, ...windowAttacks }).map((name) => [name, 'calls'] as const),
  ...Object.keys(webSocketAttacks).map((name) => [`WebSocket: ${name}`, 'sockets'] as const),
];
