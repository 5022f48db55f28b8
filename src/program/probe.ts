import { parseHostPort } from '../service/server/admin.ts';
import { readConfig } from '../service/settings/config.ts';

// The image's HEALTHCHECK requests `/readyz` and exits with 0 or 1: a distroless image has no curl, and the gRPC port may require a client
// certificate.
const { ADMIN_LISTEN } = readConfig(process.env);
if (ADMIN_LISTEN === 'off') fail('ADMIN_LISTEN is off: give the container another health check, or disable it');
const { host, port } = parseHostPort(ADMIN_LISTEN);
const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;

void probe();

async function probe(): Promise<void> {
  try {
    const response = await fetch(`http://${reachable}:${port}/readyz`, { signal: AbortSignal.timeout(2_500) });
    const body = await response.text();
    if (!response.ok) fail(`${response.status} ${body.trim()}`);
    process.stdout.write(body);
  } catch (error) {
    fail(String(error instanceof Error ? (error.cause ?? error) : error));
  }
}

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}
