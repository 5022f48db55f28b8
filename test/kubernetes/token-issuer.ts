import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Who signs tokens for clients. */
export interface TokenIssuer {
  readonly issuer: string;
  /** Its public key, as JSON, and where it is served. */
  readonly jwks: string;
  readonly jwksUri: string;
  /** A token that is valid for an hour, for these audiences. */
  token(...audiences: readonly string[]): string;
  close(): void;
}

/** Starts one with a key of its own. */
export async function startTokenIssuer(issuer: string): Promise<TokenIssuer> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwks = JSON.stringify({
    keys: [{ ...publicKey.export({ format: 'jwk' }), kid: issuer, alg: 'RS256', use: 'sig' }],
  });
  const server = createServer((_request, response) => response.end(jwks));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    issuer,
    jwks,
    jwksUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    token(...audiences) {
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: issuer, sub: 'ada', aud: audiences, iat: now, exp: now + 3600 };
      const signed = `${base64({ alg: 'RS256', kid: issuer, typ: 'JWT' })}.${base64(claims)}`;
      return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
    },
    close: () => server.close(),
  };
}
