import { describe, expect } from "vitest";
import { test } from "svc-mock/vitest";
import { submit } from "./client.js";

describe.concurrent("vitest", () => {
  for (let number = 0; number < 20; number += 1) {
    test(`a job is paid for once (${number})`, async ({ svcWorkspace, svcWebhooks }) => {
      await svcWorkspace.fault("drop_after");
      const { job } = await submit(svcWorkspace.env, "fox", { mode: "webhook", webhook_url: svcWebhooks.url });
      const [event] = await svcWebhooks.wait("job.completed");
      expect(event.body.job_id).toBe(job);
      expect(await svcWorkspace.ledger("capture")).toHaveLength(1);
    });
  }
});

test("a clock of one's own", async ({ svcClock }) => {
  const workspace = await svcClock.workspace();
  await submit(workspace.env, "fox [mock:seconds=3600]");
  await svcClock.advance(3600);
  expect(await workspace.jobs({ status: "completed" })).toHaveLength(1);
});
