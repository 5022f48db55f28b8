import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { ApiError } from '../../../../src/filter/index.ts';
import type { Admission, Holder } from '../../../../src/service/memory/overload.ts';
import type { ClosedConnection } from '../../../../src/service/websocket/client-socket.ts';
import { ClientSocket } from '../../../../src/service/websocket/client-socket.ts';

/** What a client that does not read keeps of this side's writes, until it reads. */
class ScriptedSocket extends EventEmitter {
  writableLength = 0;
  writableCorked = 0;
  bytesRead = 7;
  bytesWritten = 9;
  destroyed = false;
  readonly calls: string[] = [];
  cork = () => {
    this.writableCorked = 1;
  };
  uncork = () => {
    this.writableCorked = 0;
  };
  setTimeout = (ms: number) => this.calls.push(`timeout ${ms}`);
  end = () => this.calls.push('end');
  destroy = () => this.calls.push('destroy');
  destroySoon = () => this.calls.push('destroy soon');
}

class ScriptedWebSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  readonly calls: string[] = [];
  send = (text: string) => this.calls.push(`send ${text}`);
  pause = () => this.calls.push('pause');
  resume = () => this.calls.push('resume');
  ping = () => this.calls.push('ping');
  terminate = () => this.calls.push('terminate');
  close = (code: number) => {
    this.readyState = 2;
    this.calls.push(`close ${code}`);
  };
}

/** A connection on scripted sockets, with what it told the ledger and the log. */
function connect() {
  const [socket, webSocket] = [new ScriptedSocket(), new ScriptedWebSocket()];
  const unsent: number[] = [];
  const closed: Partial<ClosedConnection>[] = [];
  const held: number[] = [];
  const hold = (bytes: number) => {
    held.push(bytes);
    return null;
  };
  const account = { hold, setUnsent: (bytes: number) => unsent.push(bytes), release: () => {} };
  let holder: Holder | undefined;
  const clientSocket = new ClientSocket(
    // Only what it uses of the two.
    webSocket as unknown as WebSocket,
    socket as unknown as Socket,
    { id: 'c', userAgent: null, conversations: {} as never, forward: () => ({ abort: () => {} }) as never },
    {
      limits: { maxEventBytes: 1e6, maxErrorBytes: 1e6, maxValues: 1e6, maxLanes: 1, maxWaiting: 1, maxUnasked: 1 },
      lifetimeMs: 1e9,
      writeTimeoutMs: 500,
      memory: {
        enter(entering) {
          holder = entering;
          return account as unknown as Admission;
        },
        worked: () => {},
      },
      observer: {
        closed: (connection) => closed.push(connection),
        turnEnded: () => {},
        refused: () => {},
        failed: (thrown) => {
          throw thrown;
        },
      },
    },
  );
  return { socket, webSocket, clientSocket, unsent, held, closed, holder: holder as unknown as Holder };
}

const fullRead = 64 * 1024;

describe('a client that does not read', () => {
  test('is given so long, is not read from, and has all the time again when it has read', () => {
    const { socket, webSocket, clientSocket, unsent } = connect();
    socket.writableLength = 256 * 1024;
    clientSocket.send('a');
    expect([socket.calls, webSocket.calls]).toEqual([[], ['send a']]);
    socket.writableLength += 1;
    clientSocket.send('b');
    expect([socket.calls, webSocket.calls]).toEqual([['timeout 500'], ['send a', 'send b', 'pause']]);
    clientSocket.send('c'); // the time is not given anew
    expect(socket.calls).toEqual(['timeout 500']);
    expect(unsent).toEqual([256 * 1024 + 1, 256 * 1024 + 1]);
    socket.writableLength = 0;
    socket.emit('drain');
    expect(socket.calls).toEqual(['timeout 500', 'timeout 0']);
    expect(webSocket.calls.at(-1)).toBe('resume');
    expect(unsent.at(-1)).toBe(0);
  });

  test('is not meant by the drain of one that was never behind', () => {
    const { socket, webSocket } = connect();
    socket.emit('drain');
    expect([socket.calls, webSocket.calls]).toEqual([[], []]);
  });

  test('is cut when the time is over, and the log says why', async () => {
    const { socket, webSocket, clientSocket, closed } = connect();
    socket.emit('timeout');
    expect(webSocket.calls).toEqual(['terminate']);
    webSocket.emit('close', 1006);
    await clientSocket.closed;
    expect(closed).toMatchObject([{ code: 1006, reason: 'client_does_not_read', bytesIn: 7, bytesOut: 9 }]);
  });

  test('gets no close frame when memory is short, and is not pinged', () => {
    const { socket, webSocket, clientSocket, holder } = connect();
    socket.writableLength = 300 * 1024;
    clientSocket.send('a');
    clientSocket.ping();
    expect(webSocket.calls).not.toContain('ping');
    holder.shed(new ApiError('Too little memory.', { status: 503, type: 'server_error', code: 'server_overloaded' }));
    expect(webSocket.calls.at(-1)).toBe('terminate');
    expect(socket.calls).toEqual(['timeout 500']);
  });
});

describe('reading is fair', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test('a full read pauses the client until the others had their turn', async () => {
    const { socket, webSocket } = connect();
    socket.emit('data', Buffer.alloc(fullRead));
    expect(webSocket.calls).toEqual(['pause']);
    await turn();
    expect(webSocket.calls).toEqual(['pause', 'resume']);
  });

  test('a read that is not full does not', async () => {
    const { socket, webSocket } = connect();
    socket.emit('data', Buffer.alloc(fullRead - 1));
    await turn();
    expect(webSocket.calls).toEqual([]);
  });

  test('one that is halted meanwhile stays so', async () => {
    const { socket, webSocket, holder } = connect();
    socket.emit('data', Buffer.alloc(fullRead));
    holder.pause();
    await turn();
    expect(webSocket.calls).not.toContain('resume');
    holder.resume();
    expect(webSocket.calls.at(-1)).toBe('resume');
  });
});

describe('the end', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('of a client that sends too much leaves it a second, unread, for the reason', () => {
    const { socket, webSocket, clientSocket } = connect();
    clientSocket.close(1008, 'too_many');
    expect([webSocket.calls, socket.calls]).toEqual([['pause', 'close 1008'], ['end']]);
    vi.advanceTimersByTime(999);
    expect(socket.calls).toEqual(['end']);
    vi.advanceTimersByTime(1);
    expect(socket.calls).toEqual(['end', 'destroy']);
  });

  test('for want of memory, or as the service stops, is at once', () => {
    const { socket, webSocket, clientSocket } = connect();
    clientSocket.stop();
    expect([webSocket.calls, socket.calls]).toEqual([['pause', 'close 1012'], ['destroy soon']]);
    clientSocket.stop();
    expect(socket.calls).toEqual(['destroy soon']);
  });

  test('is the end of what is counted', () => {
    const { socket, webSocket, clientSocket, held } = connect();
    socket.emit('data', Buffer.alloc(1000));
    clientSocket.stop();
    const before = [...held];
    socket.emit('data', Buffer.alloc(1000));
    webSocket.emit('ping', Buffer.alloc(10));
    webSocket.emit('message', Buffer.alloc(500), false);
    expect(held).toEqual(before);
  });

  test('for any other reason is a closing handshake', () => {
    const { socket, webSocket, clientSocket } = connect();
    clientSocket.close(1000, 'done');
    expect([webSocket.calls, socket.calls]).toEqual([['close 1000'], []]);
  });
});

test('a client that answers no ping is cut by the next one, and one that sends anything is not', () => {
  const { socket, webSocket, clientSocket } = connect();
  clientSocket.ping();
  socket.emit('data', Buffer.from('x'));
  clientSocket.ping();
  expect(webSocket.calls).toEqual(['ping', 'ping']);
  clientSocket.ping();
  expect(webSocket.calls).toEqual(['ping', 'ping', 'terminate']);
});

test('a binary message is refused with its code', () => {
  const { webSocket } = connect();
  webSocket.emit('message', Buffer.from('{}'), true);
  expect(webSocket.calls).toEqual(['close 1003']);
});
