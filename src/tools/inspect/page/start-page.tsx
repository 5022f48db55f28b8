import { render } from 'preact';
import { App } from './app.tsx';
import { Model } from './model.ts';
import './page.css';

const model = new Model();
const root = document.body;
const draw = () => render(<App model={model} />, root);
model.onChange(draw);
// Two keys can come within one frame: the second one starts from what the first one changed.
for (const type of ['keydown', 'click', 'input']) addEventListener(type, () => model.settle(), { capture: true });
draw();
model.connect();
