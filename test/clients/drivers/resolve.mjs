// Packages that a driver imports come from the folder the clients are installed in.
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const installed = pathToFileURL(join(process.env.CLIENTS_FOLDER, 'package.json')).href;
const drivers = new URL('.', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const ours = context.parentURL?.startsWith(drivers) && !/^(\.|node:|file:)/.test(specifier);
    return next(specifier, ours ? { ...context, parentURL: installed } : context);
  },
});
