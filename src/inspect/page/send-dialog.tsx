import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { curlOf } from '../view/curl.ts';
import type { Model } from './model.ts';

const efforts = ['', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

const weatherTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};
const answerSchema = {
  type: 'json_schema',
  name: 'answer',
  strict: true,
  schema: {
    type: 'object',
    properties: { answer: { type: 'string' }, sure: { type: 'boolean' } },
    required: ['answer', 'sure'],
    additionalProperties: false,
  },
};

/** A small form that sends a request through the proxy, or shows the command where the service knows no proxy. */
export function SendDialog({ model, onClose }: { readonly model: Model; readonly onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [name, setName] = useState(() => lastModel(model) ?? 'demo');
  const [text, setText] = useState('What is the weather in Paris?');
  const [stream, setStream] = useState(true);
  const [tool, setTool] = useState(false);
  const [schema, setSchema] = useState(false);
  const [effort, setEffort] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const proxy = model.about?.send_to ?? null;

  useEffect(() => dialog.current?.showModal(), []);

  const body = JSON.stringify(
    {
      model: name,
      input: text,
      ...(stream ? { stream } : {}),
      ...(tool ? { tools: [weatherTool] } : {}),
      ...(schema ? { text: { format: answerSchema } } : {}),
      ...(effort === '' ? {} : { reasoning: { effort } }),
    },
    null,
    2,
  );
  const submit = async (event: Event) => {
    event.preventDefault();
    if (proxy === null) return;
    setBusy(true);
    try {
      await model.send(body);
      dialog.current?.close();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="send-title" onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id="send-title">Send a request</h2>
        <label>
          Model
          <input value={name} onInput={(event) => setName(event.currentTarget.value)} required />
        </label>
        <label>
          Input
          <textarea rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <fieldset>
          <legend class="hidden">Options</legend>
          <label class="check">
            <input type="checkbox" checked={stream} onChange={(event) => setStream(event.currentTarget.checked)} />
            Stream
          </label>
          <label class="check">
            <input type="checkbox" checked={tool} onChange={(event) => setTool(event.currentTarget.checked)} />A tool
          </label>
          <label class="check">
            <input type="checkbox" checked={schema} onChange={(event) => setSchema(event.currentTarget.checked)} />A
            JSON schema
          </label>
          <label class="check">
            Effort
            <select value={effort} onChange={(event) => setEffort(event.currentTarget.value)}>
              {efforts.map((value) => (
                <option key={value} value={value}>
                  {value === '' ? 'not set' : value}
                </option>
              ))}
            </select>
          </label>
        </fieldset>
        {proxy === null ? (
          <div class="command">
            <p>
              The service does not know its proxy (<code>INSPECT_SEND_TO</code>). Send this to it:
            </p>
            <pre>{commandOf(body)}</pre>
          </div>
        ) : (
          <p class="hint">
            Sent by the service to <code>{proxy}/responses</code>, as any client would.
          </p>
        )}
        {problem === null ? null : (
          <p class="banner bad" role="alert">
            {problem}
          </p>
        )}
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            {proxy === null ? 'Close' : 'Cancel'}
          </button>
          {proxy === null ? (
            <button type="button" class="primary" onClick={() => navigator.clipboard.writeText(commandOf(body))}>
              Copy as curl
            </button>
          ) : (
            <button type="submit" class="primary" disabled={isBusy}>
              Send
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}

function commandOf(body: string): string {
  const headers = [{ name: 'content-type', value: 'application/json' }];
  return curlOf({ method: 'POST', path: '/v1/responses', headers, body }, 'http://127.0.0.1:10000');
}

function lastModel(model: Model): string | null {
  return model.visibleRows().find(({ row }) => row.model !== null)?.row.model ?? null;
}
