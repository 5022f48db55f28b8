/** The embedded upstream alone: listens on 127.0.0.1:8080, or where `HOST` and `PORT` say, until it is stopped. */
import { startEmbeddedUpstream } from './upstream.ts';

const { HOST: host = '127.0.0.1', PORT: port = '8080' } = process.env;
const upstream = await startEmbeddedUpstream({ host, port: Number(port) });
console.log(`The embedded Chat Completions server listens on ${host}:${upstream.port}.`);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => upstream.close());
