/**
 * The baseline: an ext_proc filter on grpc-js and proto-loader's own (de)serialisers that returns every body
 * unchanged. Anything more that a filter in Node costs is its own. `node bench/noop.ts` prints the port it took.
 */
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, type ServerDuplexStream, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

interface Body {
  readonly body: Buffer;
  readonly end_of_stream: boolean;
}
interface Message {
  /** Which of the other fields is set. */
  readonly request: `${'request' | 'response'}_${'headers' | 'body' | 'trailers'}`;
  readonly request_body?: Body;
  readonly response_body?: Body;
  /** In the first message of a call. */
  readonly protocol_config?: { readonly request_body_mode: string; readonly response_body_mode: string } | null;
}
interface Duplex {
  readonly request_body: boolean;
  readonly response_body: boolean;
}

const definition = loadSync(['envoy/service/ext_proc/v3/external_processor.proto', 'grpc/health/v1/health.proto'], {
  includeDirs: [fileURLToPath(new URL('../proto', import.meta.url))],
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
});
const service = definition['envoy.service.ext_proc.v3.ExternalProcessor'] as ServiceDefinition;

/** Envoy keeps what it sends and asks what to do with it, except in full duplex, where it is lost unless it is sent back. */
function echo(message: Message, duplex: Duplex): object {
  const { request } = message;
  if ((request !== 'request_body' && request !== 'response_body') || !duplex[request]) return { [request]: {} };
  const { body, end_of_stream } = message[request] as Body;
  return { [request]: { response: { body_mutation: { streamed_response: { body, end_of_stream } } } } };
}

const server = new Server({ 'grpc.max_receive_message_length': 64 << 20 });
// Envoy ends every call with a reset, and Node treats more than 1,000 of them as an attack (see the service's server.ts).
Object.assign(Reflect.get(server, 'commonServerOptions') as object, {
  streamResetBurst: 1e9,
  streamResetRate: 1e9,
});
server.addService(service, {
  Process(call: ServerDuplexStream<Message, object>) {
    let duplex: Duplex = { request_body: false, response_body: true };
    call.on('data', (message: Message) => {
      const modes = message.protocol_config;
      if (modes != null)
        duplex = {
          request_body: modes.request_body_mode === 'FULL_DUPLEX_STREAMED',
          response_body: modes.response_body_mode === 'FULL_DUPLEX_STREAMED',
        };
      call.write(echo(message, duplex));
    });
    call.on('end', () => call.end());
    call.on('error', () => {});
  },
});
// Envoy checks health before it sends anything.
server.addService(definition['grpc.health.v1.Health'] as ServiceDefinition, {
  Check: (_call: unknown, reply: (error: null, health: object) => void) => reply(null, { status: 'SERVING' }),
  Watch: (call: ServerDuplexStream<object, object>) => call.write({ status: 'SERVING' }),
});
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(port);
});
