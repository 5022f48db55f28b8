import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { experimental, type ServerCredentials } from '@grpc/grpc-js';

export interface TlsFiles {
  /** PEM certificate chain, the server's own first. */
  readonly certFile: string;
  /** PEM key of that certificate. */
  readonly keyFile: string;
  /** PEM authorities whose client certificates are required; null asks clients for none. */
  readonly clientCaFile: string | null;
}

export interface TlsCredentials {
  readonly credentials: ServerCredentials;
  /** When the certificate loaded at the start expires, as OpenSSL writes it. */
  readonly validTo: string;
  /** Reads the files now; a valid change applies to every later connection. */
  reload(): void;
  /** Stops polling the files. */
  close(): void;
}

export interface TlsObserver {
  reloaded(certificate: { readonly subject: string; readonly validTo: string }): void;
  /** The new files cannot be used; the old certificate stays in use. */
  rejected(error: Error): void;
}

interface Pem {
  readonly certificate: Buffer;
  readonly privateKey: Buffer;
  readonly caCertificate: Buffer | null;
}

/**
 * Credentials of the gRPC port, read again when the files change: open connections keep the certificate they started
 * with, new ones get the new one. The files are compared by content, because Kubernetes replaces a mounted secret by
 * moving a symbolic link, which file watchers miss. Throws when the files cannot be used at the start.
 */
export function createTlsCredentials(files: TlsFiles, observer: TlsObserver, intervalMs = 10_000): TlsCredentials {
  let current = readTlsFiles(files);
  const identityListeners = new Set<experimental.IdentityCertificateUpdateListener>();
  const caListeners = new Set<experimental.CaCertificateUpdateListener>();

  // grpc-js's own file watcher accepts a certificate and a key that do not match (half of a rotation) and then
  // drops every connection; this one keeps the last pair that works.
  const provider: experimental.CertificateProvider = {
    addIdentityCertificateListener(listener) {
      identityListeners.add(listener);
      process.nextTick(listener, identityOf(current)); // the server reads its initial state before it listens for updates
    },
    removeIdentityCertificateListener: (listener) => void identityListeners.delete(listener),
    addCaCertificateListener(listener) {
      caListeners.add(listener);
      process.nextTick(listener, caOf(current));
    },
    removeCaCertificateListener: (listener) => void caListeners.delete(listener),
  };

  function reload(): void {
    try {
      const next = readTlsFiles(files);
      if (samePem(current, next)) return;
      current = next;
      for (const listener of identityListeners) listener(identityOf(current));
      for (const listener of caListeners) listener(caOf(current));
      const { subject, validTo } = new X509Certificate(current.certificate);
      observer.reloaded({ subject, validTo });
    } catch (error) {
      observer.rejected(error instanceof Error ? error : new Error(String(error)));
    }
  }

  const timer = setInterval(reload, intervalMs).unref();
  return {
    // The first argument is the identity's provider and the second the authorities', whatever the declaration calls them.
    credentials: experimental.createCertificateProviderServerCredentials(
      provider,
      files.clientCaFile === null ? null : provider,
      files.clientCaFile !== null,
    ),
    validTo: new X509Certificate(current.certificate).validTo,
    reload,
    close: () => clearInterval(timer),
  };
}

/** The files' content; throws when one is missing, is not PEM, or the key is not the certificate's. */
export function readTlsFiles(files: TlsFiles): Pem {
  const pem = {
    certificate: readFileSync(files.certFile),
    privateKey: readFileSync(files.keyFile),
    caCertificate: files.clientCaFile === null ? null : readFileSync(files.clientCaFile),
  };
  if (!new X509Certificate(pem.certificate).checkPrivateKey(createPrivateKey(pem.privateKey)))
    throw new Error(`${files.keyFile} is not the key of ${files.certFile}`);
  createSecureContext({ cert: pem.certificate, key: pem.privateKey, ca: pem.caCertificate ?? undefined });
  return pem;
}

function samePem(a: Pem, b: Pem): boolean {
  return (
    a.certificate.equals(b.certificate) &&
    a.privateKey.equals(b.privateKey) &&
    (a.caCertificate === null || b.caCertificate === null || a.caCertificate.equals(b.caCertificate))
  );
}

const identityOf = ({ certificate, privateKey }: Pem) => ({ certificate, privateKey });
const caOf = ({ caCertificate }: Pem) => (caCertificate === null ? null : { caCertificate });
