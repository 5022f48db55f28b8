import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Config } from '../settings/config.ts';
import { type OnChanged, readFiles, watchFiles } from './watched-files.ts';

/**
 * PEM files: the certificate chain, the server's own first; the key of that certificate; the authorities whose client
 * certificates are required, without which clients are asked for none.
 */
export type TlsFiles = readonly [certFile: string, keyFile: string, ...clientCaFile: readonly string[]];

export type TlsCredentials = ReturnType<typeof createTlsCredentials>;

/** The files that are configured; null without TLS. */
export function tlsFilesOf({ TLS_CERT_FILE, TLS_KEY_FILE, TLS_CLIENT_CA_FILE: ca }: Config): TlsFiles | null {
  if (TLS_CERT_FILE === '') return null;
  return [TLS_CERT_FILE, TLS_KEY_FILE, ...(ca === '' ? [] : [ca])];
}

/**
 * Credentials of the gRPC port, read again when the files change: open connections keep the certificate they started
 * with, new ones get the new one. Throws when the files cannot be used at the start.
 *
 * grpc-js's own file watcher accepts a certificate and a key that do not match (half of a rotation) and then drops every
 * connection; this one keeps the last pair that works.
 */
export function createTlsCredentials(files: TlsFiles, onChanged: OnChanged, intervalMs?: number) {
  let current = readTlsFiles(files);
  const credentials = new ReplaceableCredentials({ requestCert: files.length > 2 }, current.options);
  const watched = watchFiles(
    files,
    (contents) => {
      current = contextOf(files, contents);
      credentials.replace(current.options);
    },
    onChanged,
    intervalMs,
  );
  return {
    ...watched,
    credentials,
    /** The certificate in use. */
    certificate: () => current.certificate,
  };
}

class ReplaceableCredentials extends ServerCredentials {
  /** Every later connection gets these. */
  replace(options: SecureContextOptions): void {
    this.updateSecureContextOptions(options);
  }

  override _equals(other: ServerCredentials): boolean {
    return other === this;
  }
}

/** The files' content; throws when one is missing, is not PEM, or the key is not the certificate's. */
export function readTlsFiles(files: TlsFiles) {
  return contextOf(files, readFiles(files));
}

/** Their contents, as options of node:tls; the certificate alone too. */
function contextOf([certFile, keyFile]: TlsFiles, [cert = noBytes, key = noBytes, ca]: readonly Buffer[]) {
  const certificate = new X509Certificate(cert);
  // Node takes any bytes for authorities, and then refuses every client.
  if (ca !== undefined) void new X509Certificate(ca);
  if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error(`${keyFile} is not the key of ${certFile}`);
  const options = { cert, key, ca };
  createSecureContext(options);
  return { certificate, options };
}

const noBytes = Buffer.alloc(0);
