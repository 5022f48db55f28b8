/** The error codes for a certificate whose issuer is unknown to this machine. */
const untrusted =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(?:_LOCALLY)?))$/;

/** The error of a connection whose TLS handshake did not finish in time. */
export const noTlsHandshake = 'no TLS handshake';

/**
 * Why a server could not be asked and what to do about it, in one or two sentences for a terminal. `reason` is the code of
 * Node's error; an unknown code is shown unchanged.
 */
export function explainUnreachable(reason: string, url: URL): string {
  const secure = url.protocol === 'https:';
  const place = `${url.hostname}:${url.port || (secure ? 443 : 80)}`;
  const otherScheme = `${secure ? 'http' : 'https'}://${url.host}${url.pathname}`;
  if (reason === 'ECONNREFUSED')
    return `nothing listens at ${place} (${reason}). Start the server, or correct the address.`;
  if (reason === 'ENOTFOUND' || reason === 'EAI_AGAIN')
    return `the name ${url.hostname} is not known (${reason}). Correct the address.`;
  if (['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'].includes(reason))
    return `no connection to ${place} could be made (${reason}). Is the address right, and no firewall in between?`;
  if (untrusted.test(reason))
    return `its certificate is not trusted here (${reason}). Set NODE_EXTRA_CA_CERTS to the PEM file of the authority that issued it, or of the certificate itself if it is self-signed.`;
  if (reason === 'CERT_HAS_EXPIRED')
    return `its certificate has expired (${reason}). It must be renewed on the server.`;
  if (reason === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `its certificate is for another name than ${url.hostname} (${reason}). Write the name that the certificate has.`;
  if (secure && (reason === noTlsHandshake || reason === 'EPROTO' || reason.startsWith('ERR_SSL')))
    return `it does not speak TLS on that port (${reason}). Try ${otherScheme}`;
  if (reason.startsWith('HPE_') || reason === 'EPROTO')
    return `it does not speak HTTP on that port (${reason}). Try ${otherScheme}`;
  if (reason === 'ECONNRESET' || reason === 'EPIPE')
    return `it closed the connection without an answer (${reason}). ${secure ? 'Does it speak TLS on that port? If not' : 'If it speaks TLS on that port'}, try ${otherScheme}`;
  return `the request failed: ${reason}.`;
}
