import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { redactionMark } from '../../../filter/wire/credentials/names.ts';
import { curlOf } from '../view/curl.ts';
import { pretty } from '../view/indent-json.ts';
import { parsed } from '../view/timeline.ts';
import { reasonOf } from './format.ts';
import type { Draft, Model } from './model.ts';

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

/** A form that sends a request through the proxy, or shows the command if the service knows no proxy. */
export function SendDialog(props: {
  readonly model: Model;
  readonly draft: Draft;
  readonly onClose: () => void;
}): JSX.Element {
  const { model, draft, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [name, setName] = useState(() => lastModel(model) ?? 'demo');
  const [text, setText] = useState('What is the weather in Paris?');
  const [stream, setStream] = useState(true);
  const [tool, setTool] = useState(false);
  const [schema, setSchema] = useState(false);
  const [effort, setEffort] = useState('');
  /** The edited body; null for the one that the form makes. */
  const [raw, setRaw] = useState(draft.body);
  const [models, setModels] = useState<readonly string[]>([]);
  const [listProblem, setListProblem] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const proxy = model.about?.send_to ?? null;

  const listModels = () => {
    if (proxy === null) return;
    model.models().then(
      (list) => {
        setModels(list.models);
        setListProblem(list.problem);
      },
      (error: unknown) => setListProblem(reasonOf(error)),
    );
  };
  useEffect(() => {
    dialog.current?.showModal();
    listModels();
  }, []);

  const made = JSON.stringify(
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
  const body = raw ?? made;
  const edited = raw === null ? null : parsed(raw);
  const isObject = typeof edited === 'object' && edited !== null && !Array.isArray(edited);
  const shownName = raw === null ? name : isObject && 'model' in edited ? String(edited.model) : '';
  const rename = (given: string) => {
    setName(given);
    if (isObject) setRaw(pretty({ ...edited, model: given }));
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (proxy === null) return;
    setBusy(true);
    try {
      await model.send(draft.path, body);
      dialog.current?.close();
    } catch (error) {
      setProblem(reasonOf(error));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} class={raw === null ? '' : 'wide'} aria-labelledby="send-title" onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id="send-title">{draft.body === null ? 'Send a request' : 'Edit and resend'}</h2>
        <label>
          Model
          <input
            value={shownName}
            list="models"
            disabled={raw !== null && !isObject}
            onInput={(event) => rename(event.currentTarget.value)}
            required={raw === null}
          />
        </label>
        <datalist id="models">
          {models.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        {listProblem === null ? null : <p class="hint">Models could not be listed: {listProblem}</p>}
        {proxy === null ? null : (
          <label>
            API key, if one is needed
            <input
              type="password"
              autocomplete="off"
              value={model.key}
              onInput={(event) => {
                model.key = event.currentTarget.value;
              }}
              onChange={listModels}
            />
          </label>
        )}
        {raw === null ? (
          <>
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
                <input type="checkbox" checked={tool} onChange={(event) => setTool(event.currentTarget.checked)} />A
                tool
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
          </>
        ) : (
          <label>
            Body
            <textarea
              class="raw"
              rows={18}
              spellcheck={false}
              value={raw}
              onInput={(event) => setRaw(event.currentTarget.value)}
            />
          </label>
        )}
        {raw !== null && edited === null ? <p class="hint">This is not valid JSON; it will be sent as is.</p> : null}
        {raw?.includes(redactionMark) ? (
          <p class="hint">
            <code>{redactionMark}</code> stands for what was not recorded: replace it.
          </p>
        ) : null}
        {proxy === null ? (
          <div class="command">
            <p>
              <code>INSPECT_SEND_TO</code> is not set, so send this to the proxy yourself:
            </p>
            <pre>{commandOf(draft.path, body)}</pre>
          </div>
        ) : (
          <p class="hint">
            The service sends this to <code>{draft.path}</code> at <code>{proxy}</code>
            {draft.body === null ? '' : ', without the original request’s other headers'}.
          </p>
        )}
        {problem === null ? null : (
          <p class="banner bad" role="alert">
            {problem}
          </p>
        )}
        <div class="buttons">
          {raw === null ? (
            <button type="button" onClick={() => setRaw(made)}>
              Edit as JSON
            </button>
          ) : null}
          <button type="button" onClick={() => dialog.current?.close()}>
            {proxy === null ? 'Close' : 'Cancel'}
          </button>
          {proxy === null ? (
            <button
              type="button"
              class="primary"
              onClick={() => navigator.clipboard.writeText(commandOf(draft.path, body))}
            >
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

function commandOf(path: string, body: string): string {
  const headers = [{ name: 'content-type', value: 'application/json' }];
  return curlOf({ method: 'POST', path, headers, body }, 'http://127.0.0.1:10000');
}

function lastModel(model: Model): string | null {
  return model.list.visible().find(({ row }) => row.model !== null)?.row.model ?? null;
}
