import { findFreePort } from '../../mesh/ports.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

/** Pods of the service on addresses of 127.0.0.0/8, with the same ports, as in a cluster. */
export interface Pods {
  readonly ports: { readonly grpc: number; readonly admin: number };
  /** Starts one, as the Deployment says; resolves when it accepts calls. */
  start(address: string): Promise<ServiceProcess>;
  close(): Promise<void>;
}

/** `environment` is the Deployment's; addresses and NODE_OPTIONS are taken from it as far as this machine allows. */
export async function createPods(environment: Readonly<Record<string, string>>): Promise<Pods> {
  const ports = { grpc: await findFreePort(), admin: await findFreePort() };
  const running: ServiceProcess[] = [];
  return {
    ports,
    async start(address) {
      const { NODE_OPTIONS = '', ...variables } = environment;
      const pod = await startServiceProcess(
        { ...variables, LISTEN: `${address}:${ports.grpc}`, ADMIN_LISTEN: `${address}:${ports.admin}` },
        { nodeOptions: NODE_OPTIONS.split(' ') },
      );
      running.push(pod);
      return pod;
    },
    async close() {
      await Promise.all(running.map((pod) => pod.remove()));
    },
  };
}
