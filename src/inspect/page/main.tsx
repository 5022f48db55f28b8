import { render } from 'preact';
import { App } from './app.tsx';
import { Model } from './model.ts';
import './page.css';

const model = new Model();
const root = document.body;
const draw = () => render(<App model={model} />, root);
model.onChange(draw);
draw();
model.connect();
