import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Config } from '../settings/config.ts';
import { type OnChanged, readFiles, watchFiles } from './watched-files.ts';

/**
 * PEM files: the certificate chain, which begins with the server's own; its key; and the authorities of client certificates. Without
 * the third file, clients need no certificate.
 */
export type TlsFiles = readonly [certFile: string, keyFile: string, ...clientCaFile: readonly string[]];

export type TlsCredentials = ReturnType<typeof createTlsCredentials>;

export function readTlsSettings({ TLS_CERT_FILE, TLS_KEY_FILE, TLS_CLIENT_CA_FILE: ca }: Config): TlsFiles | null {
  if (TLS_CERT_FILE === '') return null;
  return [TLS_CERT_FILE, TLS_KEY_FILE, ...(ca === '' ? [] : [ca])];
}

/**
 * Credentials of the gRPC port, which are read again when the files change and then apply to new connections. Throws when the files
 * cannot be used at the start. The file watcher of grpc-js accepts a certificate and a key that do not match (half of a rotation) and
 * then drops every connection; here the last pair that works stays in use.
 */
export function createTlsCredentials(files: TlsFiles, onChanged: OnChanged, intervalMs?: number) {
  let current = readTlsFiles(files);
  const credentials = new ReplaceableCredentials({ requestCert: files.length > 2 }, current.options);
  const watched = watchFiles(
    files,
    (contents) => {
      current = readTlsFiles(files, contents);
      credentials.replace(current.options);
    },
    onChanged,
    intervalMs,
  );
  return {
    ...watched,
    credentials,
    certificate: () => current.certificate,
  };
}

class ReplaceableCredentials extends ServerCredentials {
  replace(options: SecureContextOptions): void {
    this.updateSecureContextOptions(options);
  }

  override _equals(other: ServerCredentials): boolean {
    return other === this;
  }
}

/** Reads the files. Throws if one is missing or not PEM, or if the key is not the certificate's. */
export function readTlsFiles(files: TlsFiles, [cert = noBytes, key = noBytes, ca] = readFiles(files)) {
  const certificate = new X509Certificate(cert);
  // Node accepts any bytes as authorities, and would then refuse every client.
  if (ca !== undefined) void new X509Certificate(ca);
  if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error(`${files[1]} is not the key of ${files[0]}`);
  const options = { cert, key, ca };
  createSecureContext(options);
  return { certificate, options };
}

const noBytes = Buffer.alloc(0);
