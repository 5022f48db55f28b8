/**
 * The floor to compare with: an ext_proc filter on grpc-js and proto-loader's own (de)serialisers that sends every body
 * back as it came. Whatever a filter in Node does on top is its own cost. `node bench/noop.ts` prints the port it took.
 */
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, type ServerDuplexStream, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

interface Body {
  readonly body: Buffer;
  readonly end_of_stream: boolean;
}
type Message = { readonly request: string } & Readonly<Record<string, Body | undefined>>;

const definition = loadSync(['envoy/service/ext_proc/v3/external_processor.proto', 'grpc/health/v1/health.proto'], {
  includeDirs: [fileURLToPath(new URL('../proto', import.meta.url))],
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
});
const service = definition['envoy.service.ext_proc.v3.ExternalProcessor'] as ServiceDefinition;

/** The request is buffered by Envoy, so nothing of it needs to be repeated; the answer is full duplex. */
function echo(message: Message): object {
  const kind = message.request;
  if (kind !== 'response_body') return { [kind]: {} };
  const { body, end_of_stream } = message[kind] as Body;
  return { response_body: { response: { body_mutation: { streamed_response: { body, end_of_stream } } } } };
}

const server = new Server({ 'grpc.max_receive_message_length': 64 << 20 });
// Envoy ends every call with a reset, which Node takes for an attack beyond 1,000 of them (see the service's server.ts).
Object.assign(Reflect.get(server, 'commonServerOptions') as object, { streamResetBurst: 1e9, streamResetRate: 1e9 });
server.addService(service, {
  Process(call: ServerDuplexStream<Message, object>) {
    call.on('data', (message: Message) => call.write(echo(message)));
    call.on('end', () => call.end());
    call.on('error', () => {});
  },
});
// Envoy asks before it sends anything.
server.addService(definition['grpc.health.v1.Health'] as ServiceDefinition, {
  Check: (_call: unknown, reply: (error: null, health: object) => void) => reply(null, { status: 'SERVING' }),
  Watch: (call: ServerDuplexStream<object, object>) => call.write({ status: 'SERVING' }),
});
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(port);
});
