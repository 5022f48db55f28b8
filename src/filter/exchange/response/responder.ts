import type { Attributes } from '../types.ts';

/**
 * Who made a response: the upstream; Envoy's router, because the upstream could not be reached or did not answer; or Envoy for a reason
 * of its own, such as a rate limit or a missing token (Envoy calls both a local reply).
 */
export type Responder = 'upstream' | 'router' | 'proxy';

/**
 * The maker of a response, by `response.code_details` and `upstream.address`. `isFirst`: no message of its request has come, so a filter
 * before this one has answered. Without attributes any other response counts as the upstream's.
 */
export function responderOf(attributes: Attributes | undefined, isFirst: boolean): Responder {
  const details = attributes?.get('response.code_details');
  if (details === undefined) return isFirst ? 'proxy' : 'upstream';
  if (details === 'via_upstream') return 'upstream';
  return attributes?.has('upstream.address') || details === 'no_healthy_upstream' ? 'router' : 'proxy';
}
