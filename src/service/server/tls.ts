import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Config } from '../settings/config.ts';
import { readFiles, type WatchedFiles, type WatchedFilesObserver, watchFiles } from './watched-files.ts';

export interface TlsFiles {
  /** PEM certificate chain, the server's own first. */
  readonly certFile: string;
  /** PEM key of that certificate. */
  readonly keyFile: string;
  /** PEM authorities whose client certificates are required; null asks clients for none. */
  readonly clientCaFile: string | null;
}

export interface TlsCredentials extends WatchedFiles {
  readonly credentials: ServerCredentials;
  /** The certificate in use. */
  readonly certificate: () => X509Certificate;
}

/** The files that are configured; null without TLS. */
export function tlsFilesOf({ TLS_CERT_FILE, TLS_KEY_FILE, TLS_CLIENT_CA_FILE }: Config): TlsFiles | null {
  if (TLS_CERT_FILE === '') return null;
  const clientCaFile = TLS_CLIENT_CA_FILE === '' ? null : TLS_CLIENT_CA_FILE;
  return { certFile: TLS_CERT_FILE, keyFile: TLS_KEY_FILE, clientCaFile };
}

/** Their contents, as options of node:tls; the certificate alone too. */
interface TlsContext {
  readonly certificate: X509Certificate;
  readonly options: SecureContextOptions;
}

/**
 * Credentials of the gRPC port, read again when the files change: open connections keep the certificate they started
 * with, new ones get the new one. Throws when the files cannot be used at the start.
 *
 * grpc-js's own file watcher accepts a certificate and a key that do not match (half of a rotation) and then drops every
 * connection; this one keeps the last pair that works.
 */
export function createTlsCredentials(
  files: TlsFiles,
  observer: WatchedFilesObserver,
  intervalMs?: number,
): TlsCredentials {
  let current = readTlsFiles(files);
  const credentials = new ReplaceableCredentials(current.options, files.clientCaFile !== null);
  const watched = watchFiles(
    pathsOf(files),
    (contents) => {
      current = contextOf(files, contents);
      credentials.replace(current.options);
    },
    observer,
    intervalMs,
  );
  return { ...watched, credentials, certificate: () => current.certificate };
}

class ReplaceableCredentials extends ServerCredentials {
  constructor(options: SecureContextOptions, requestCert: boolean) {
    super({ requestCert }, options);
  }

  /** Every later connection gets these. */
  replace(options: SecureContextOptions): void {
    this.updateSecureContextOptions(options);
  }

  override _equals(other: ServerCredentials): boolean {
    return other === this;
  }
}

/** The files' content; throws when one is missing, is not PEM, or the key is not the certificate's. */
export function readTlsFiles(files: TlsFiles): TlsContext {
  return contextOf(files, readFiles(pathsOf(files)));
}

function pathsOf({ certFile, keyFile, clientCaFile }: TlsFiles): readonly string[] {
  return [certFile, keyFile, ...(clientCaFile === null ? [] : [clientCaFile])];
}

function contextOf(
  { certFile, keyFile }: TlsFiles,
  [cert = noBytes, key = noBytes, ca]: readonly Buffer[],
): TlsContext {
  const certificate = new X509Certificate(cert);
  if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error(`${keyFile} is not the key of ${certFile}`);
  const options = { cert, key, ca };
  createSecureContext(options);
  return { certificate, options };
}

const noBytes = Buffer.alloc(0);
