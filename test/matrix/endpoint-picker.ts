import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, type ServerDuplexStream, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** An ext_proc service that behaves as the endpoint picker of the Gateway API Inference Extension does. */
export interface EndpointPicker {
  readonly port: number;
  /** Request bodies that it was shown, parsed. */
  readonly seen: readonly Record<string, unknown>[];
  close(): void;
}

interface Body {
  readonly body: Buffer;
  readonly end_of_stream: boolean;
}
type Message = { readonly request: string } & Readonly<Record<string, Body | undefined>>;

/** What the picker puts into one message; Envoy takes no more than 64 KiB at a time. */
const pieceBytes = 62_000;

/**
 * Full duplex both ways: it answers the request's headers when it has read the whole body and chosen an endpoint (a header
 * of its own), then sends the body on in pieces; answers go through it as they come.
 */
export async function startEndpointPicker(): Promise<EndpointPicker> {
  const definition = loadSync('envoy/service/ext_proc/v3/external_processor.proto', {
    includeDirs: [fileURLToPath(new URL('../../proto', import.meta.url))],
    keepCase: true,
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
  });
  const seen: Record<string, unknown>[] = [];
  const server = new Server({ 'grpc.max_receive_message_length': 64 << 20 });
  // Envoy ends every call with a reset, which Node takes for an attack beyond 1,000 of them (see the service's server.ts).
  Object.assign(Reflect.get(server, 'commonServerOptions') as object, { streamResetBurst: 1e9, streamResetRate: 1e9 });
  server.addService(definition['envoy.service.ext_proc.v3.ExternalProcessor'] as ServiceDefinition, {
    Process(call: ServerDuplexStream<Message, object>) {
      const request: Buffer[] = [];
      call.on('data', (message: Message) => {
        const kind = message.request;
        if (kind === 'request_headers' && !(message[kind] as Body).end_of_stream) return;
        if (kind === 'request_body') {
          const { body, end_of_stream } = message[kind] as Body;
          request.push(body);
          if (!end_of_stream) return;
          const whole = Buffer.concat(request);
          seen.push(JSON.parse(whole.toString('utf8')));
          const header = { key: 'x-gateway-destination-endpoint', raw_value: Buffer.from('127.0.0.1:8000') };
          call.write({ request_headers: { response: { header_mutation: { set_headers: [{ header }] } } } });
          for (let at = 0; at < whole.length; at += pieceBytes)
            call.write(streamed('request_body', whole.subarray(at, at + pieceBytes), at + pieceBytes >= whole.length));
          return;
        }
        if (kind === 'response_body') {
          const { body, end_of_stream } = message[kind] as Body;
          call.write(streamed(kind, body, end_of_stream));
          return;
        }
        call.write({ [kind]: {} });
      });
      call.on('end', () => call.end());
      call.on('error', () => {});
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { port, seen, close: () => server.forceShutdown() };
}

function streamed(kind: string, body: Buffer, end_of_stream: boolean): object {
  return { [kind]: { response: { body_mutation: { streamed_response: { body, end_of_stream } } } } };
}
