import { parentPort, workerData } from 'node:worker_threads';
import { webSocketAttacks } from './websocket-attacks.ts';

/** What the worker does. */
export interface AttackOfWorker {
  /** Of `webSocketAttacks`. */
  readonly name: string;
  readonly address: string;
}

const { name, address } = workerData as AttackOfWorker;
await webSocketAttacks[name]?.(address, []);
// A listener keeps the worker, and with it the sockets, until it is terminated.
parentPort?.on('message', () => {}).postMessage('sent');
