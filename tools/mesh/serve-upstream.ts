/** The embedded upstream alone, for `docker-compose.yml`: listens on port 8080 (or `PORT`) of every address until it is stopped. */
import { startEmbeddedUpstream } from './upstream.ts';

const upstream = await startEmbeddedUpstream({ host: '0.0.0.0', port: Number(process.env['PORT'] ?? 8080) });
console.log(`The embedded Chat Completions server listens on port ${upstream.port}.`);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => upstream.close());
