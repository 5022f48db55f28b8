import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiServer } from './api-server.ts';
import { type KubernetesObject, parseObjects } from './manifests.ts';
import { runGo, runTool } from './tools.ts';

const tools = join(import.meta.dirname, 'tools');

/** Modules with CustomResourceDefinitions whose code the tools do not need. Go's checksum database pins their contents. */
const others = {
  gatewayApi: 'sigs.k8s.io/gateway-api@v1.6.3', // 1.7 needs Go 1.27
  keda: 'github.com/kedacore/keda/v2@v2.17.2',
  istio: 'istio.io/api@v1.31.4',
  prometheus: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
};

/** CustomResourceDefinitions of Gateway API, Envoy Gateway, Istio, KEDA and the Prometheus operator. */
export function customResourceDefinitions(): KubernetesObject[] {
  const chart = join(download('github.com/envoyproxy/gateway'), 'charts/gateway-crds-helm');
  const rendered = runTool('helm', ['template', 'crds', chart, '--set', 'crds.envoyGateway.enabled=true']);
  const istio = readFileSync(join(download(others.istio), 'kubernetes/customresourcedefinitions.gen.yaml'), 'utf8');
  const filesIn = (folder: string, wanted: RegExp) =>
    readdirSync(folder)
      .filter((name) => wanted.test(name))
      .map((name) => readFileSync(join(folder, name), 'utf8'));
  const standard = filesIn(join(download(others.gatewayApi), 'config/crd/standard'), /gateway\.networking.*\.yaml$/);
  const operator = join(download(others.prometheus), 'example/prometheus-operator-crd');
  const monitoring = filesIn(operator, /_(servicemonitors|podmonitors|prometheusrules)\.yaml$/);
  const keda = readFileSync(join(download(others.keda), 'config/crd/bases/keda.sh_scaledobjects.yaml'), 'utf8');
  return [rendered, ...standard, istio, keda, ...monitoring]
    .flatMap(parseObjects)
    .filter(({ kind }) => kind === 'CustomResourceDefinition');
}

/** Creates all of them, and resolves when the server knows every kind. */
export async function createDefinitions(server: ApiServer): Promise<void> {
  const definitions = customResourceDefinitions();
  for (const definition of definitions) {
    const refusal = await server.create(definition);
    if (refusal !== null) throw new Error(`${definition.metadata.name}: ${refusal}`);
  }
  for (const { spec } of definitions)
    for (const { name, served } of spec.versions)
      if (served) await server.untilKnown(`${spec.group}/${name}`, spec.names.kind);
}

/** The folder of a module's sources; without a version, those of go.mod. */
function download(module: string): string {
  return (JSON.parse(runGo(tools, ['mod', 'download', '-json', module])) as { Dir: string }).Dir;
}
