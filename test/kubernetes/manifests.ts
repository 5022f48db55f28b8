import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { ManifestFolder } from '../../scripts/generate/kubernetes-render.ts';

const root = join(import.meta.dirname, '../..');

/** A Kubernetes object, as far as tests look at it. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; uid?: string; labels?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own; a wrong path fails the test that takes it.
  spec?: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  status?: any;
  data?: Record<string, string>;
}

/** The objects of YAML documents. Throws on YAML that is not valid. */
export function parseObjects(text: string): KubernetesObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    const object = document.toJS() as KubernetesObject | null;
    return object === null ? [] : [object];
  });
}

/** The committed manifests: the service, and the gateway of a folder. */
export function committedManifests(folder: ManifestFolder): KubernetesObject[] {
  return ['envoy/service.yaml', `${folder}/gateway.yaml`].flatMap((path) =>
    parseObjects(readFileSync(join(root, path), 'utf8')),
  );
}

/** The one object of that kind, and name where there are several. */
export function objectOf(objects: readonly KubernetesObject[], kind: string, name?: string): KubernetesObject {
  const found = objects.filter(
    (object) => object.kind === kind && (name ?? object.metadata.name) === object.metadata.name,
  );
  const [object, ...others] = found;
  if (object === undefined || others.length > 0) throw new Error(`${found.length} objects of kind ${kind}`);
  return object;
}

/** The environment that a Deployment gives its container. */
export function environmentOf(deployment: KubernetesObject): Record<string, string> {
  const [container] = deployment.spec.template.spec.containers;
  return Object.fromEntries(container.env.map(({ name, value }: { name: string; value: string }) => [name, value]));
}
