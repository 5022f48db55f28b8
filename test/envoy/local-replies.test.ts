import { describeLocalReplies } from '../support/local-replies.ts';

describeLocalReplies('what Envoy answers itself', true);
