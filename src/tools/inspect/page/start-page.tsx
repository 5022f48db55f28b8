import { render } from 'preact';
import { App } from './app.tsx';
import { Model } from './model.ts';
import './page.css';

const model = new Model(draw);

// Drawing at once lets the next key meet the page as it is: two keys can come within one frame.
function draw(): void {
  render(<App model={model} />, document.body);
}

draw();
model.connect();
