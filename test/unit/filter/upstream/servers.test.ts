import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../../../src/filter/translate/translate-request.ts';
import type { Profile } from '../../../../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { chatRequestBody } from '../../../../src/filter/wire/schema/chat-request.ts';
import { createCountedIds } from '../../../support/context.ts';
import { goldenRequests } from '../../../support/golden.ts';
import { type ServerGuard, schemaGuards, serverGuards, toolGuards } from '../../../support/server-guards.ts';
import { createTestSettings } from '../../../support/settings.ts';

type Body = Parameters<ServerGuard['check']>[0];

const requests = goldenRequests();
const withoutQuirks: Profile = {
  ...(builtInProfiles.get('generic')?.profile as Profile),
  models: [],
  maxToolName: 128,
};

describe.each([...serverGuards, ...toolGuards, ...schemaGuards])('$profile $model', (guard) => {
  it(`is sent nothing it refuses, by any golden request (${guard.source})`, () => {
    const sent = bodiesOf(guard.model, guard.profile).map(({ where, body }) => {
      const complaint = complaintOf(guard, body);
      return { where, complaint, ...(complaint !== null && { body }) };
    });
    expect(sent.filter(({ complaint }) => complaint !== null)).toEqual([]);
    expect(sent.length).toBeGreaterThan(100);
  });
});

describe.each(schemaGuards)('$profile', (guard) => {
  it('would refuse some tools as clients send them', () => {
    const asSent = requests.map(({ request }): Body => {
      const { tools } = request as { readonly tools?: unknown };
      const chat = Array.isArray(tools) ? tools.map((tool) => ({ function: tool })) : [];
      return { messages: [], tools: chat };
    });
    expect(asSent.filter((body) => complaintOf(guard, body) !== null)).not.toEqual([]);
  });
});

describe.each([...serverGuards, ...toolGuards])('$profile $model', (guard) => {
  it('would refuse some of what a server without quirks is sent', () => {
    const refused = bodiesOf(guard.model, null).filter(({ body }) => complaintOf(guard, body) !== null);
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

interface Sent {
  readonly where: string;
  readonly body: Body;
}
const sentAs = new Map<string, readonly Sent[]>();

/** What each golden request becomes for that model, as a profile sends it or, for null, one without quirks; many guards share it. */
function bodiesOf(model: string | undefined, profile: string | null): readonly Sent[] {
  const key = JSON.stringify([model, profile]);
  const known = sentAs.get(key);
  if (known !== undefined) return known;
  const flags = profile === null ? withoutQuirks : (builtInProfiles.get(profile)?.profile as Profile);
  const bodies = requests.flatMap(({ where, request }) => {
    const body = bodyOf(model === undefined ? request : { ...request, model }, flags);
    return body === null ? [] : [{ where, body }];
  });
  sentAs.set(key, bodies);
  return bodies;
}

/** The body as the upstream gets it; null for a request that is refused, or answered without the upstream. */
function bodyOf(request: object, profile: Profile): Body | null {
  const settings = createTestSettings({ orphanOutputs: 'synthesize', missingOutputs: 'synthesize' });
  try {
    const clock = { now: () => 1, newId: createCountedIds() };
    const { chat, passthrough, context } = translateRequest(request, { ...settings, profile }, clock);
    if (!context.answer.asksUpstream) return null;
    return JSON.parse(JSON.stringify(chatRequestBody(chat, passthrough)));
  } catch (thrown) {
    if (thrown instanceof ApiError) return null;
    throw thrown;
  }
}
