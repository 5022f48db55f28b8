import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ExchangeFile } from '../../../filter/wire/schema/exchange-file.ts';
import { isStream, lastResponse } from '../view/final-response.ts';
import { jsonLines, textLines } from '../view/json-lines.ts';
import { parsed } from '../view/timeline.ts';
import { CopyButton } from './copy-button.tsx';
import { FindCount } from './find-count.tsx';
import { foundIn, Lines, useColumns } from './lines.tsx';
import type { Model } from './model.ts';
import { Section } from './section.tsx';

/** The client's final response. */
export function ResponseSection(props: {
  readonly model: Model;
  readonly file: ExchangeFile;
  readonly isOver: boolean;
  readonly version: number;
}): JSX.Element {
  const { client_response } = props.file;
  const { model } = props;
  const [box, columns] = useColumns();
  const [inView, setInView] = useState<{ readonly index: number } | null>(null);
  const text = useMemo(() => {
    if (!props.isOver || client_response === null) return '';
    const body = client_response.pieces.map((piece) => ('text' in piece ? piece.text : `(not text) ${piece.base64}`));
    return body.join('');
  }, [props.isOver, props.version, client_response]);
  const value = useMemo(() => {
    if (text === '') return null;
    return isStream(client_response) ? lastResponse(text) : parsed(text);
  }, [text]);
  const lines = useMemo(() => {
    if (text === '') return [];
    return value === null
      ? textLines(text, columns, model.list.find)
      : jsonLines(value, { columns, find: model.list.find });
  }, [text, value, columns, model.list.find]);
  const extra = (
    <>
      <FindCount found={foundIn(lines)} what="the final Response" onGo={(index) => setInView({ index })} />
      {text === '' ? null : (
        <CopyButton text={value === null ? text : JSON.stringify(value, null, 2)} what="the final Response" />
      )}
    </>
  );
  return (
    <Section title="Final Response" class="response" grow={model.layout.response} model={model} extra={extra}>
      <div class="pane" ref={box}>
        {props.isOver ? null : <p class="empty">The stream is still running.</p>}
        {props.isOver && client_response === null ? <p class="empty">The client was sent nothing.</p> : null}
        <Lines id="final" label="Final Response" lines={lines} inView={inView} />
      </div>
    </Section>
  );
}
