import { redactionMark } from '../../../formats/credentials/names.ts';
import type { ExchangeFileRequest } from '../../files/exchange-file.ts';

/** The headers that curl writes itself, and those that the proxy adds. */
const leftOut =
  /^(host|content-length|transfer-encoding|connection|accept-encoding|user-agent|te|x-envoy-.*|x-forwarded-.*|x-request-id)$/;

/** A command that sends this request again, to `base` (`http://127.0.0.1:10000`). A credential becomes a shell variable to set first. */
export function writeCurl(request: ExchangeFileRequest, base: string): string {
  const body = 'body' in request ? request.body : null;
  const parts = [
    `curl -N -X ${quoteForShell(request.method)} ${quoteForShell(`${base}${request.path}`)}`,
    ...request.headers.filter(({ name }) => !leftOut.test(name)).map((header) => `-H ${writeHeader(header)}`),
    ...(body === null || body === '' ? [] : [`--data-binary ${quoteForShell(body)}`]),
  ];
  return parts.join(' \\\n  ');
}

/** Quotes a header for the shell. In a double-quoted word, `$API_KEY` stands for a redacted credential. */
function writeHeader({ name, value }: ExchangeFileRequest['headers'][number]): string {
  if (value !== redactionMark) return quoteForShell(`${name}: ${value}`);
  return `"${name}: ${name === 'authorization' ? 'Bearer ' : ''}$API_KEY"`;
}

function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
