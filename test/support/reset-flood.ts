/**
 * A peer that opens calls and resets them as fast as it can, over one connection at a time, until it is ended:
 * `node test/support/reset-flood.ts http://127.0.0.1:9090 /path` prints how many it has opened, a line for each thousand.
 * A process of its own, so that it does not wait for those it floods.
 */

import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import { setImmediate } from 'node:timers/promises';

const [, , url = '', path = ''] = process.argv;
const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
let opened = 0;
for (;;) {
  const session = connect(url).on('error', () => {});
  await once(session, 'connect').catch(() => {});
  while (!session.destroyed && !session.closed) {
    for (let index = 0; index < 100; index++)
      session
        .request(headers)
        .on('error', () => {})
        .close(constants.NGHTTP2_CANCEL);
    opened += 100;
    if (opened % 1000 === 0) console.log(opened);
    await setImmediate();
  }
}
