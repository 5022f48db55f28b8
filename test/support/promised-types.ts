import { readFrozen } from '../../scripts/generate/public-names.ts';

/** The fields of a value that have another type than a section of docs/public-names.json promises, each with both. */
export function unpromised(section: string, value: object): string[] {
  const promised = readFrozen()[section] ?? {};
  return Object.entries(value).flatMap(([name, one]) => {
    const type = promised[name];
    if (type === undefined || type.split(' or ').includes(kindOf(one))) return [];
    return [`${name}: ${kindOf(one)}, promised: ${type}`];
  });
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
}
