import { Agent, request as httpRequest } from 'node:http';
import type { TestMesh } from './mesh.ts';
import { completion } from './upstream.ts';

/** Sends so many short requests over 16 connections; gives how many had each status. */
export async function sendShortRequests(mesh: TestMesh, count: number): Promise<Record<number, number>> {
  mesh.upstream.script('short', { body: [completion({ content: 'Hi' })] });
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const body = JSON.stringify({ model: 'short', input: 'Hi' });
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const send = () =>
    new Promise<number>((resolve, reject) => {
      const request = httpRequest(`${mesh.url}/v1/responses`, { method: 'POST', headers, agent }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0));
      });
      request.once('error', reject).end(body);
    });
  const statuses: Record<number, number> = {};
  let left = count;
  await Promise.all(
    Array.from({ length: agent.maxSockets }, async () => {
      while (left > 0) {
        left -= 1;
        const status = await send();
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    }),
  );
  agent.destroy();
  return statuses;
}
