/**
 * The contract of resources.
 *
 * @module
 */
import type { NamedResources } from "../../protocol/resources.ts";
import { type ContractApi, contractTests, type OpenStore } from "./harness.ts";

const PROMPT: NamedResources = {
  main: { resource_type: "prompt_template", template: "Solve {task}", engine: "f-string" },
};
const MODELS: NamedResources = {
  main_llm: {
    resource_type: "llm",
    endpoint: "http://127.0.0.1:8000/v1",
    model: "m",
    api_key: null,
    sampling_parameters: { temperature: 0.5 },
  },
  proxied: {
    resource_type: "proxy_llm",
    endpoint: "http://127.0.0.1:9000",
    model: "m",
    sampling_parameters: {},
  },
};

/** Tests of versions of resources. */
export function resourceContract(open: OpenStore, api: ContractApi): void {
  const { expect } = api;
  const { test, timed, rejects } = contractTests(open, api);

  timed("a set is added as version 1 and becomes the latest", async ({ store, advance }) => {
    expect(await store.getLatestResources()).toBe(null);
    const first = await store.addResources(PROMPT);
    expect(/^rs-[0-9a-f]{12}$/.test(first.resources_id)).toBe(true);
    expect(first).toMatchObject({ version: 1, resources: PROMPT, update_time: first.create_time });
    expect(await store.getLatestResources()).toEqual(first);
    advance(1);
    const second = await store.addResources(MODELS);
    expect(second.resources).toMatchObject({ main_llm: MODELS["main_llm"] as object });
    expect(await store.getLatestResources()).toEqual(second);
    expect(await store.getResources(first.resources_id)).toEqual(first);
    expect(await store.getResources("rs-unknown")).toBe(null);
  });

  timed("an update replaces the set, raises its version and makes it the latest", async (context) => {
    const { store, advance } = context;
    const first = await store.addResources(PROMPT);
    await store.addResources({});
    advance(5);
    const updated = await store.updateResources(first.resources_id, MODELS);
    expect(updated).toMatchObject({
      resources_id: first.resources_id,
      version: 2,
      create_time: first.create_time,
      update_time: first.create_time + 5,
    });
    expect(Object.keys(updated.resources)).toEqual(["main_llm", "proxied"]);
    expect(await store.getLatestResources()).toEqual(updated);
    expect((await store.updateResources(first.resources_id, {})).version).toBe(3);
    expect((await store.queryResources()).total).toBe(2);
  });

  test("the latest is the last change, however close in time", async ({ store }) => {
    const made = [];
    for (let i = 0; i < 5; i++) made.push(await store.addResources({}));
    expect((await store.getLatestResources())?.resources_id).toBe(made[4]?.resources_id);
    await store.updateResources(made[2]?.resources_id as string, {});
    expect((await store.getLatestResources())?.resources_id).toBe(made[2]?.resources_id);
  });

  test("an update of an unknown set makes it", async ({ store }) => {
    const made = await store.updateResources("my-prompts", PROMPT);
    expect(made).toMatchObject({ resources_id: "my-prompts", version: 1, resources: PROMPT });
    expect(await store.getResources("my-prompts")).toEqual(made);
  });

  test("sets are found by id and sorted", async ({ store }) => {
    for (const id of ["b-1", "a-1", "b-2"]) await store.updateResources(id, {});
    await store.updateResources("a-1", {});
    const ids = async (query: Parameters<typeof store.queryResources>[0]) =>
      (await store.queryResources(query)).items.map(({ resources_id }) => resources_id);
    expect(await ids({})).toEqual(["b-1", "a-1", "b-2"]);
    expect(await ids({ resources_id: "b-2" })).toEqual(["b-2"]);
    expect(await ids({ resources_id_contains: "b-" })).toEqual(["b-1", "b-2"]);
    expect(await ids({ resources_id: "b-2", resources_id_contains: "a" })).toEqual([]);
    expect(await ids({ sort_by: "resources_id" })).toEqual(["a-1", "b-1", "b-2"]);
    expect(await ids({ sort_by: "version", sort_order: "desc", limit: 1 })).toEqual(["a-1"]);
    await rejects(store.queryResources({ sort_by: "resources" }), "invalid_argument", "resources");
  });
}
