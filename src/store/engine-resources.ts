/**
 * The engine's operations on resources and workers.
 *
 * @module
 */
import type { Json } from "../protocol/json.ts";
import type { NamedResources, ResourcesUpdate } from "../protocol/resources.ts";
import type { Core } from "./engine-core.ts";
import type { LightningStore } from "./interface.ts";
import { copyJson, type ResourcesRow, toResources } from "./rows.ts";
import { newWorker } from "./rules/workers.ts";
import { resourcesSelection, workerSelection } from "./selection.ts";

type ResourceMethods = Pick<
  LightningStore,
  | "addResources"
  | "updateResources"
  | "queryResources"
  | "getResources"
  | "getLatestResources"
  | "queryWorkers"
  | "getWorker"
  | "updateWorker"
>;

/** Resource and worker operations over `core`; `scan` applies time-outs that are due. */
export function resourceMethods(core: Core, scan: () => void): ResourceMethods {
  const { backend } = core;

  const put = (resourcesId: string, resources: NamedResources): ResourcesUpdate =>
    core.write((tx) => {
      const before = backend.resources(resourcesId);
      const row: ResourcesRow = {
        resources_id: resourcesId,
        create_time: before?.create_time ?? tx.now,
        update_time: tx.now,
        version: (before?.version ?? 0) + 1,
        resources: copyJson(resources as unknown as Json) as unknown as NamedResources,
        revision: (backend.latestResources()?.revision ?? 0) + 1,
      };
      backend.putResources(row);
      tx.changes.events.push({ type: "resources", resources: backend.isolate(toResources(row)) });
      return backend.isolate(toResources(row));
    });

  return {
    async addResources(resources) {
      return put(core.ids.resources(), resources);
    },
    async updateResources(resourcesId, resources) {
      core.assertOpen();
      scan();
      return put(resourcesId, resources);
    },
    async queryResources(query = {}) {
      const selection = resourcesSelection(query);
      const { items, total } = core.read(() => backend.selectResources(selection));
      return { items, limit: selection.limit, offset: selection.offset, total };
    },
    async getResources(resourcesId) {
      return core.read(() => {
        const row = backend.resources(resourcesId);
        return row === null ? null : backend.isolate(toResources(row));
      });
    },
    async getLatestResources() {
      return core.read(() => {
        const row = backend.latestResources();
        return row === null ? null : backend.isolate(toResources(row));
      });
    },
    async queryWorkers(query = {}) {
      core.assertOpen();
      scan();
      const selection = workerSelection(query);
      const { items, total } = core.read(() => backend.selectWorkers(selection));
      return { items, limit: selection.limit, offset: selection.offset, total };
    },
    async getWorker(workerId) {
      return core.read(() => backend.isolate(backend.worker(workerId)));
    },
    async updateWorker(workerId, patch = {}) {
      return core.write((tx) => {
        const worker = { ...(backend.worker(workerId) ?? newWorker(workerId)), last_heartbeat_time: tx.now };
        if (patch.heartbeat_stats !== undefined) worker.heartbeat_stats = copyJson(patch.heartbeat_stats);
        tx.putWorker(worker);
        return backend.isolate(worker);
      });
    },
  };
}
