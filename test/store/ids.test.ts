import { expect, it } from "vitest";
import { openMemoryStore } from "../../src/store/index.ts";

it("ids and the time can be given", async () => {
  let count = 0;
  const store = await openMemoryStore({
    now: () => 12.5,
    ids: { rollout: () => `ro-${++count}`, attempt: () => `at-${++count}`, resources: () => `rs-${++count}` },
  });
  const started = await store.startRollout({ input: 1 });
  expect(started).toMatchObject({
    rollout_id: "ro-1",
    start_time: 12.5,
    attempt: { rollout_id: "ro-1", attempt_id: "at-2", start_time: 12.5 },
  });
  expect(await store.addResources({})).toMatchObject({ resources_id: "rs-3", create_time: 12.5 });
  expect((await store.statistics()).uptime).toBe(0);
});
