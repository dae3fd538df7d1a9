"use strict";

const { withWorkspace } = require("svc-mock/jest");
const { submit } = require("./client.js");

test.each(Array.from({ length: 20 }, (_, number) => [number]))("a job is paid for once (%i)", (number) =>
  withWorkspace(async ({ workspace }) => {
    const webhooks = await workspace.webhooks();
    await workspace.fault("drop_after");
    const { job } = await submit(workspace.env, `fox ${number}`, { mode: "webhook", webhook_url: webhooks.url });
    const [event] = await webhooks.wait("job.completed");
    expect(event.body.job_id).toBe(job);
    expect(await workspace.ledger("capture")).toHaveLength(1);
  })());
