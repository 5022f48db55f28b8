import { gzipSync } from 'node:zlib';
import { messageOf } from '../service/settings/error-texts.ts';
import type { ExplainedRequest } from '../tools/inspect/exchange-json.ts';

export type ExplainAnswer = { readonly gzip: Buffer } | { readonly problem: string };

/** An explanation repeats the request and the Chat request field by field, and may be long. */
const maxOutputBytes = 64 * 1024 * 1024;
const maxProblemLength = 4096;

// The process in which the inspector has requests explained, one after the other, until its parent disconnects (`explainer.ts`).
process.on('disconnect', () => process.exit());
process.on('message', (request: ExplainedRequest) => {
  void explain(request).then((answer) => process.send?.(answer));
});
// The command is loaded before the first request.
const command = import('../tools/explain/explain-command.ts');

async function explain({ file, body }: ExplainedRequest): Promise<ExplainAnswer> {
  try {
    const { explainExchange } = await command;
    const client_request = { ...file.client_request, base64: body.toString('base64') };
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (const piece of explainExchange({ ...file, client_request }, process.env)) {
      size += piece.length;
      if (size > maxOutputBytes) throw new Error(`The explanation is longer than ${maxOutputBytes} bytes.`);
      pieces.push(piece);
    }
    // The lowest level, since the explanation is kept, and sent within this machine.
    return { gzip: gzipSync(Buffer.concat(pieces), { level: 1 }) };
  } catch (error) {
    return { problem: messageOf(error).slice(0, maxProblemLength) };
  }
}
