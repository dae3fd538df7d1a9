// A hundred tests at once, each with faults, webhooks and money of its own: `node --test`.
"use strict";

const assert = require("node:assert");
const { spawn } = require("node:child_process");
const { describe, test } = require("node:test");
const { startMock, withWorkspace } = require("svc-mock");
const { submit } = require("./client.js");

const FAULTS = ["drop_before", "drop_after", "truncate", "garbage", "status_503"];
const range = (count) => Array.from({ length: count }, (_, number) => number);

describe("in parallel", { concurrency: 100 }, () => {
  for (const number of range(60)) {
    const run = withWorkspace(async ({ workspace }) => {
      const webhooks = await workspace.webhooks();
      const before = Number(await workspace.balanceUsd());
      const times = (number % 3) + 1;
      await workspace.fault(FAULTS[number % 5], { operation: "image_generate", times });
      webhooks.answer(...(number % 2 ? [503] : []));
      const { job } = await submit(workspace.env, `fox ${number}`, { mode: "webhook", webhook_url: webhooks.url });
      const [event] = await webhooks.wait("job.completed");
      assert.equal(event.body.job_id, job);
      assert.equal(webhooks.refused.length, number % 2);
      assert.deepEqual((await workspace.ledger("capture")).map((charge) => charge.job_id), [job]);
      assert.equal(Number(await workspace.balanceUsd()).toFixed(4), (before - 0.005).toFixed(4));
      await workspace.verify({ operation: "image_generate", count: times + 1, body: { prompt: `fox ${number}` } });
    });
    test(`a lost response is paid for once (${number})`, run);
  }

  for (const number of range(40)) {
    const paidFor = number % 3;
    const run = withWorkspace(
      async ({ workspace }) => {
        for (const _ of range(paidFor)) await submit(workspace.env, "fox");
        assert.equal((await submit(workspace.env, "fox")).status, 402);
        assert.equal((await workspace.jobs()).length, paidFor);
      },
      { balanceUsd: (0.005 * paidFor).toFixed(3) },
    );
    test(`no money, no job (${number})`, run);
  }
});

test("webhooks reach the host of the environment", withWorkspace(async ({ mock, workspace }) => {
  process.env.SVC_WEBHOOK_HOST = "localhost";
  const webhooks = await workspace.webhooks().finally(() => delete process.env.SVC_WEBHOOK_HOST);
  const routes = (await mock.control("GET", "/webhook-routes")).data;
  assert.match(routes.find((route) => route.workspace === workspace.id).to, /^http:\/\/localhost:/);
  await submit(workspace.env, "fox", { mode: "webhook", webhook_url: webhooks.url });
  await webhooks.wait("job.completed");
}));

test("verify names the nearest request", withWorkspace(async ({ workspace }) => {
  await submit(workspace.env, "a blue fox");
  await workspace.verify({ operation: "image_generate", body: { prompt: "a blue fox" } });
  const failure = { name: "AssertionError", message: /a blue fox/ };
  await assert.rejects(workspace.verify({ operation: "image_generate", body: { prompt: "a red fox" } }), failure);
}));

test("a wait that fails says what was there", withWorkspace(async ({ workspace }) => {
  const webhooks = await workspace.webhooks();
  await assert.rejects(webhooks.wait("job.completed", { timeout: 0.1 }), /0 of 1 webhooks job.completed/);
  await assert.rejects(workspace.requests({ count: 2, timeout: 0.1 }), /0 of 2 in \/requests/);
}));

test("another secret is refused", withWorkspace(async ({ workspace }) => {
  const webhooks = await workspace.webhooks();
  webhooks.secrets = ["whsec_of_somebody_else"];
  await submit(workspace.env, "fox", { mode: "webhook", webhook_url: webhooks.url });
  await workspace.deliveries({ count: 1 });
  webhooks.secrets = ["whsec_new", workspace.webhookSecret];
  await webhooks.wait("job.completed");
  assert.equal(webhooks.refused[0].answered, 401);
}));

test("a clock of one's own", async () => {
  const mock = await startMock({ clock: "manual" });
  const workspace = await mock.workspace();
  const webhooks = await workspace.webhooks();
  await submit(workspace.env, "fox [mock:seconds=3600]", { mode: "webhook", webhook_url: webhooks.url });
  await mock.advance(3599);
  assert.deepEqual(webhooks.events, []);
  await mock.advance(1);
  await webhooks.wait("job.completed");
  await workspace.close();
  await mock.stop();
});

test("a mock does not outlive a process that is killed", { skip: process.platform === "win32" }, async () => {
  const code = 'require("svc-mock").startMock().then((m) => { console.log(m._child.pid); setInterval(() => {}, 1000); })';
  const runner = spawn(process.execPath, ["-e", code], { cwd: __dirname, stdio: ["ignore", "pipe", "inherit"] });
  const pid = Number(await new Promise((resolve) => runner.stdout.once("data", resolve)));
  runner.kill("SIGKILL");
  for (let waited = 0; isRunning(pid); waited += 1) {
    assert.ok(waited < 500, `process ${pid} still runs`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
