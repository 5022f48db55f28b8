import { describeLocalReplies } from '../support/local-replies.ts';
import { envoyVersions } from './versions.ts';

for (const [version, install] of envoyVersions)
  describeLocalReplies(`what Envoy ${version} answers itself`, !version.startsWith('1.36.'), install);
