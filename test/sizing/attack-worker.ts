import { parentPort, workerData } from 'node:worker_threads';
import { connectExtProc, type ExtProcCall } from '../support/extproc-client.ts';
import { attacks, smallHolderAttacks, windowAttacks } from './attacks.ts';
import { webSocketAttacks } from './websocket-attacks.ts';

/** The attack that the worker makes: `name` is one of these, and `address` the listener that it is for. */
export type AttackOfWorker = { readonly name: string; readonly address: string };

const { name, address } = workerData as AttackOfWorker;
const calls: ExtProcCall[] = [];
const attack = { ...attacks, ...smallHolderAttacks, ...windowAttacks }[name];
await (attack === undefined ? webSocketAttacks[name]?.(address, []) : attack(connectExtProc(address), calls));
// A listener keeps the worker, and with it what is open, until it is terminated.
parentPort?.on('message', () => {}).postMessage(calls.length);
