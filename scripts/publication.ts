/** What README.md says of whether this version is published. A candidate is not; the version of a release turns the sentences over. */
import { documentsWith, type Generator, textOf } from './generator.ts';

const { version } = JSON.parse(textOf('package.json')) as { version: string };
const isCandidate = version.includes('-');

export const publication: Generator = {
  name: 'whether this version is published',
  source: 'package.json',
  files: () =>
    documentsWith({
      'README.md': {
        status: `**Status: ${version}${isCandidate ? ', not published yet' : ''}.** What stays as it is: [compatibility](docs/compatibility.md).`,
        npx: isCandidate
          ? 'Once it is published, `npx responses-extproc try` does the same in any folder, without a clone.'
          : '`npx responses-extproc try` does the same in any folder, without a clone.',
      },
    }),
};
