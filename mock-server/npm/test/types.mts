// What the declarations promise; compiled, never run.
import { startMock, withWorkspace, type Mock } from "svc-mock";
import { test } from "svc-mock/vitest";

const mock: Mock = await startMock({ clock: "manual", options: ["--plan", "pro"] });
const workspace = await mock.workspace({ balanceUsd: "0.01" });
const balance: string = await workspace.balanceUsd();
// @ts-expect-error: a clock is real or manual.
await startMock({ clock: "virtual" });
// @ts-expect-error: the balance is text.
const amount: number = balance;
export const run: () => Promise<void> = withWorkspace(async ({ workspace }) => {
  const [event] = await (await workspace.webhooks()).wait("job.completed", { count: 1 });
  return [event?.body.job_id, amount];
});
test("fixtures", ({ svcWorkspace, svcWebhooks }) => {
  const key: string = svcWorkspace.openApiKey;
  return void [key, svcWebhooks.events.length];
});
