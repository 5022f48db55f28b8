import { EventEmitter } from 'node:events';
import { constants, type ServerHttp2Session } from 'node:http2';
import { expect, it } from 'vitest';
import { createResetGuard } from '../../../../src/service/server/server.ts';

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_ENHANCE_YOUR_CALM } = constants;

/** A guard of connections, a clock, and what becomes of each connection. */
function guardOf(limits: { burst: number; perSecond: number }) {
  const clock = { ms: 5_000 };
  const watch = createResetGuard(limits, () => clock.ms);
  const connection = () => {
    const session = Object.assign(new EventEmitter(), {
      destroyed: false,
      code: null as number | null,
      destroy(_error: undefined, code: number) {
        session.destroyed = true;
        session.code = code;
      },
    });
    watch(session as unknown as ServerHttp2Session);
    /** Opens so many calls, of which each closes with that code. Returns whether the connection is still there. */
    const reset = (
      calls: number,
      rstCode: number = NGHTTP2_CANCEL,
      sentHeaders?: Readonly<Record<string, unknown>>,
    ) => {
      for (let n = 0; n < calls; n += 1) {
        const stream = Object.assign(new EventEmitter(), { rstCode, sentHeaders });
        session.emit('stream', stream);
        stream.emit('close');
        stream.emit('close'); // once is enough
      }
      return !session.destroyed;
    };
    return { session, reset };
  };
  return { clock, connection };
}

it('a connection is closed with the reset that is one too many of its own and of all', () => {
  const { connection } = guardOf({ burst: 150, perSecond: 10 });
  const { session, reset } = connection();
  expect([reset(150), session.code]).toEqual([true, null]);
  expect([reset(1), session.code]).toEqual([false, NGHTTP2_ENHANCE_YOUR_CALM]);
});

it('one that resets a hundred in a second stays, whatever others do', () => {
  const { clock, connection } = guardOf({ burst: 1, perSecond: 1 });
  const [flood, quiet] = [connection(), connection()];
  expect(flood.reset(101)).toBe(false);
  expect(quiet.reset(100)).toBe(true);
  clock.ms += 1_000;
  expect(quiet.reset(1), 'of the same second, but one more is left by now').toBe(true);
  clock.ms += 1;
  expect(quiet.reset(100), 'of the next').toBe(true);
  expect(quiet.reset(1)).toBe(false);
});

it('what is left fills up by so many a second, and to no more than the burst', () => {
  const { clock, connection } = guardOf({ burst: 200, perSecond: 100 });
  const { reset } = connection();
  reset(200);
  clock.ms += 500;
  expect(reset(50)).toBe(true);
  clock.ms += 500;
  expect(reset(50)).toBe(true);
  expect(reset(1)).toBe(false);
  clock.ms += 3_600_000;
  const later = connection();
  expect([later.reset(200), later.reset(1)]).toEqual([true, false]);
});

it('a call that was answered, that ended well, or whose connection is gone, is none of them', () => {
  const { connection } = guardOf({ burst: 0, perSecond: 0 });
  const { session, reset } = connection();
  expect(reset(200, NGHTTP2_CANCEL, { ':status': 200 })).toBe(true);
  expect(reset(200, NGHTTP2_NO_ERROR)).toBe(true);
  expect(reset(100, NGHTTP2_CANCEL, { ':status': 200, 'grpc-status': '14' }), 'refused').toBe(true);
  session.destroyed = true;
  reset(50);
  session.destroyed = false;
  expect(reset(1)).toBe(false);
});
