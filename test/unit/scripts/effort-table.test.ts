import { describe, expect, it } from 'vitest';
import { replacementsOf, rulesOf } from '../../../scripts/generate/effort-table.ts';
import { builtInProfiles } from '../../../src/filter/upstream/profiles.ts';
import { effortTable } from '../../../src/filter/upstream/servers/effort-table.ts';
import { modelsNamed } from '../../../src/filter/upstream/servers/generic.ts';

describe('efforts that a model refuses', () => {
  it('become the next higher one that it takes, and above its highest that one', () => {
    const kimi = { off: null, minimal: null, low: 'low', medium: null, high: 'high', xhigh: null, max: 'max' };
    expect(replacementsOf(kimi)).toEqual({ none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' });
    const grok = { off: 'none', minimal: null, low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh', max: null };
    expect(replacementsOf(grok)).toEqual({ minimal: 'low', max: 'xhigh' });
  });

  it('become the API’s own word', () => {
    const qwen = { off: 'none', minimal: null, low: null, medium: null, high: 'default', xhigh: null, max: null };
    const all = {
      minimal: 'default',
      low: 'default',
      medium: 'default',
      high: 'default',
      xhigh: 'default',
      max: 'default',
    };
    expect(replacementsOf(qwen)).toEqual(all);
  });

  it('are the two above high where the table does not name them', () => {
    expect(replacementsOf({ off: null })).toEqual({ none: 'minimal', xhigh: 'high', max: 'high' });
  });
});

describe('rules', () => {
  const noMax = { max: null, xhigh: 'xhigh' };
  const ofModel = (name: string, list: Parameters<typeof rulesOf>[0]) =>
    rulesOf(list).find(({ models }) => modelsNamed(models).test(name))?.efforts;

  it('are for a model and its variants, with the name of its maker and without', () => {
    for (const name of ['glm-9', 'z-ai/GLM-9', 'glm-9-0101', 'glm-9:free'])
      expect(ofModel(name, [{ id: 'zai/glm-9', thinkingLevelMap: noMax }]), name).toEqual({ max: 'xhigh' });
    for (const name of ['glm-9.1', 'glm-90', 'my-glm-9'])
      expect(ofModel(name, [{ id: 'glm-9', thinkingLevelMap: noMax }]), name).toBeUndefined();
  });

  it('leave out a variant that is known to be another', () => {
    const list = [{ id: 'glm-9', thinkingLevelMap: noMax }, { id: 'glm-9-flash' }];
    expect(ofModel('glm-9', list)).toEqual({ max: 'xhigh' });
    expect(ofModel('glm-9-flash', list)).toBeUndefined();
  });

  it('leave out words of another API', () => {
    expect(rulesOf([{ id: 'gemma', thinkingLevelMap: { minimal: 'MINIMAL', low: null } }])).toEqual([]);
  });
});

it.each(Object.entries(effortTable))('the rules of %s come first in its profile', (name, rules) => {
  const expected = rules.map(([models, efforts]) => ({ models: modelsNamed(models), efforts }));
  expect(builtInProfiles.get(name)?.profile.effortRules.slice(0, rules.length)).toEqual(expected);
});
