import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { redactionMark } from '../../../formats/credentials/names.ts';
import { objectOf } from '../../../formats/json/loose.ts';
import { messageOf } from '../../../service/settings/error-texts.ts';
import { writeCurl } from '../view/exports.ts';
import { writeIndentedJson } from '../view/json-lines.ts';
import { parseShown } from '../view/timeline.ts';
import { type Draft, findBaseUrl, type Model } from './model.ts';
import { Button, Problem } from './section.tsx';
import { CopyButton } from './text-pane.tsx';

interface ModelList {
  readonly models: readonly string[];
  /** The reason why there is no list. */
  readonly problem: string | null;
}

/** A form that sends a request through the proxy, or shows the command if the service knows no proxy. */
export function SendDialog({ model, draft }: { readonly model: Model; readonly draft: Draft }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [body, setBody] = useState(draft.body);
  const [list, setList] = useState<ModelList>({ models: [], problem: null });
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const proxy = model.about?.send_to ?? null;

  const listModels = () => {
    if (proxy === null) return;
    model.ask<ModelList>('models').then(setList, (error) => setList({ models: [], problem: messageOf(error) }));
  };
  useEffect(() => {
    dialog.current?.showModal();
    listModels();
  }, []);

  const value = parseShown(body);
  const request = objectOf<{ readonly model?: unknown }>(value);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await model.send(draft.path, body);
      dialog.current?.close();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  const headers = [{ name: 'content-type', value: 'application/json' }];
  const command = writeCurl({ method: 'POST', path: draft.path, headers, body }, findBaseUrl(model));
  return (
    <dialog ref={dialog} aria-labelledby="send-title" onClose={() => model.set({ draft: null })}>
      <form onSubmit={submit}>
        <h2 id="send-title">{draft.title}</h2>
        <label>
          Model
          <input
            value={request !== null && 'model' in request ? String(request.model) : ''}
            list="models"
            disabled={request === null}
            onInput={(event) => setBody(writeIndentedJson({ ...request, model: event.currentTarget.value }))}
          />
        </label>
        <datalist id="models">
          {list.models.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        {list.problem === null ? null : <p class="hint">Models could not be listed: {list.problem}</p>}
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
        <label>
          Body
          <textarea rows={18} spellcheck={false} value={body} onInput={(event) => setBody(event.currentTarget.value)} />
        </label>
        {value === null ? <p class="hint">This is not valid JSON; it will be sent as is.</p> : null}
        {body.includes(redactionMark) ? (
          <p class="hint">
            <code>{redactionMark}</code> stands for what was not recorded: replace it.
          </p>
        ) : null}
        {proxy === null ? (
          <div class="hint">
            <p>
              <code>INSPECT_SEND_TO</code> is not set, so send this to the proxy yourself:
            </p>
            <pre>{command}</pre>
          </div>
        ) : (
          <p class="hint">
            The service sends this to <code>{draft.path}</code> at <code>{proxy}</code>, with no other headers of a
            client.
          </p>
        )}
        <Problem says={problem} />
        <div class="buttons">
          <Button says={proxy === null ? 'Close' : 'Cancel'} onClick={() => dialog.current?.close()} />
          {proxy === null ? (
            <CopyButton text={command} what="the command" as="Copy as curl" />
          ) : (
            <Button says="Send" type="submit" class="primary" disabled={isBusy} />
          )}
        </div>
      </form>
    </dialog>
  );
}
