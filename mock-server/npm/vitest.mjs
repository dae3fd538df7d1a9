// Fixtures for vitest.
import { test as base } from "vitest";
import { sharedMock, startMock, stopSharedMock } from "./index.js";

/* eslint-disable no-empty-pattern -- vitest reads from the pattern which fixtures are needed. */
export const test = base.extend({
  svcMock: [
    async ({}, use) => {
      await use(await sharedMock());
      await stopSharedMock();
    },
    { scope: "file" },
  ],
  svcWorkspace: async ({ svcMock }, use) => {
    const workspace = await svcMock.workspace();
    await use(workspace);
    await workspace.close();
  },
  svcWebhooks: async ({ svcWorkspace }, use) => {
    await use(await svcWorkspace.webhooks());
  },
  svcClock: async ({}, use) => {
    const mock = await startMock({ clock: "manual" });
    await use(mock);
    await mock.stop();
  },
});
