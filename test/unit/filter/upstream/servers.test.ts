import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../../../src/filter/translate/translate-request.ts';
import type { Profile } from '../../../../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { chatRequestBody } from '../../../../src/filter/wire/schema/chat-request.ts';
import { createCountedIds } from '../../../support/context.ts';
import { goldenRequests } from '../../../support/golden.ts';
import { type ServerGuard, serverGuards, toolGuards } from '../../../support/server-guards.ts';
import { createTestSettings } from '../../../support/settings.ts';

type Body = Parameters<ServerGuard['check']>[0];

const requests = goldenRequests();
const withoutQuirks: Profile = {
  ...(builtInProfiles.get('generic')?.profile as Profile),
  models: [],
  maxToolName: 128,
};

describe.each([...serverGuards, ...toolGuards])('$profile $model', (guard) => {
  it(`is sent nothing it refuses, by any golden request (${guard.source})`, () => {
    const sent = requests.filter(({ where, request }) => {
      const body = bodyOf(request, guard, guard.profile);
      if (body === null) return false;
      expect(() => guard.check(body), `${where}: ${JSON.stringify(body)}`).not.toThrow();
      return true;
    });
    expect(sent.length).toBeGreaterThan(100);
  });

  it('would refuse some of what a server without quirks is sent', () => {
    const refused = requests.filter(({ request }) => {
      const body = bodyOf(request, guard, withoutQuirks);
      return body !== null && complaintOf(guard, body) !== null;
    });
    expect(refused.length).toBeGreaterThan(0);
  });
});

function complaintOf(guard: ServerGuard, body: Body): string | null {
  try {
    guard.check(body);
    return null;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

/** The body as the upstream gets it; null for a request that is refused, or answered without the upstream. */
function bodyOf(given: object, { model }: ServerGuard, profile: string | Profile): Body | null {
  const request = model === undefined ? given : { ...given, model };
  const settings = createTestSettings({ orphanOutputs: 'synthesize', missingOutputs: 'synthesize' });
  const flags = typeof profile === 'string' ? (builtInProfiles.get(profile)?.profile as Profile) : profile;
  try {
    const clock = { now: () => 1, newId: createCountedIds() };
    const { chat, passthrough, context } = translateRequest(request, { ...settings, profile: flags }, clock);
    if (!context.answer.asksUpstream) return null;
    return JSON.parse(JSON.stringify(chatRequestBody(chat, passthrough)));
  } catch (thrown) {
    if (thrown instanceof ApiError) return null;
    throw thrown;
  }
}
