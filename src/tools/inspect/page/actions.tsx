import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ExchangeFileRequest } from '../../../filter/wire/schema/exchange-file.ts';
import { curlOf } from '../view/curl.ts';
import { harOf } from '../view/har.ts';
import { prettyText } from '../view/indent-json.ts';
import { download } from './download.ts';
import type { Model } from './model.ts';
import type { ShownExchange } from './shown-exchange.ts';

/** What can be exported from an exchange: commands for curl, the file that `explain` and `npm run golden` read, HAR. `base` is where a client would send it. */
export function Actions(props: {
  readonly shown: ShownExchange;
  readonly base: string;
  readonly model: Model;
}): JSX.Element {
  const { shown, base, model } = props;
  const [done, setDone] = useState('');
  const { file, row } = shown.detail;
  useEffect(() => {
    const timer = setTimeout(() => setDone(''), 3000);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async (what: string, request: ExchangeFileRequest, to: string) => {
    try {
      await navigator.clipboard.writeText(curlOf(request, to));
      setDone(`Copied: ${what}`);
    } catch {
      setDone('The browser does not allow copying here.');
    }
  };
  const name = `${(row.model ?? 'exchange').replace(/[^\w.-]+/g, '-').slice(0, 40)}-${row.id}`;
  const har = () => JSON.stringify(harOf([shown.detail], base, model.about?.version ?? ''), null, 1);
  const { chat_request: chat, client_request: client } = file;
  return (
    <div class="actions">
      <button
        type="button"
        disabled={row.endpoint === null || shown.detail.omitted.client_request > 0 || !('body' in client)}
        onClick={() => 'body' in client && model.setDraft({ path: client.path, body: prettyText(client.body) })}
      >
        Edit and resend
      </button>
      <Menu label="Copy as curl">
        <button type="button" role="menuitem" onClick={() => copy('the client’s request', file.client_request, base)}>
          The client’s request
        </button>
        <button
          type="button"
          role="menuitem"
          disabled={chat === null}
          onClick={() => chat !== null && copy('the Chat request', chat, upstreamOf(chat, base))}
        >
          The Chat request
        </button>
      </Menu>
      <button
        type="button"
        onClick={() => download(`exchange-${name}.json`, 'application/json', JSON.stringify(file, null, 1))}
      >
        Download JSON
      </button>
      <button type="button" onClick={() => download(`exchange-${name}.har`, 'application/json', har())}>
        HAR
      </button>
      <span class="notice" role="status">
        {done}
      </span>
    </div>
  );
}

/** The upstream's URL, if the request tells; otherwise the proxy's, which passes Chat requests on. */
function upstreamOf(chat: ExchangeFileRequest, base: string): string {
  const host = chat.headers.find(({ name }) => name === 'host')?.value;
  return host === undefined ? base : `http://${host}`;
}

function Menu({ label, children }: { readonly label: string; readonly children: ComponentChildren }): JSX.Element {
  const box = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (box.current !== null) box.current.open = false;
  };
  return (
    <details
      ref={box}
      class="menu"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        close();
        box.current?.querySelector('summary')?.focus();
      }}
      onFocusOut={(event) => {
        if (!box.current?.contains(event.relatedTarget as Node | null)) close();
      }}
    >
      <summary class="button">{label} ▾</summary>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the buttons in it have the keys */}
      <div role="menu" tabIndex={-1} onClick={close}>
        {children}
      </div>
    </details>
  );
}
