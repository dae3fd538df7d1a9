// The mock of the svc service, for tests.
"use strict";

const { spawn } = require("node:child_process");
const readline = require("node:readline");
const { ControlError, send } = require("./control.js");
const { findProgram } = require("./program.js");
const { WebhookReceiver } = require("./webhooks.js");
const { Workspace } = require("./workspace.js");

const START_TIMEOUT_MS = 60_000;

class Mock {
  constructor(env, child) {
    this.env = env;
    this._child = child;
  }

  control(method, path, body, query) {
    return send(method, this.env.SVC_CONTROL_URL + path, body, query);
  }

  async workspace({ id, plan, balanceUsd, team } = {}) {
    const body = { id, plan, balance_usd: balanceUsd, team };
    return new Workspace(this, await this.control("POST", "/workspaces", body));
  }

  async advance(seconds) {
    await this.control("POST", "/clock/advance", { seconds });
  }

  async stop() {
    const child = this._child;
    this._child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill();
    await ended;
  }
}

async function startMock({ clock = "real", speed = 50, options = [] } = {}) {
  const args = ["--port-base", "0", "--json", "--exit-on-stdin-eof", "--clock", clock];
  if (clock === "real") args.push("--speed", String(speed));
  const child = spawn(findProgram(), [...args, ...options], { stdio: "pipe" });
  let log = "";
  child.stderr.on("data", (chunk) => {
    if (log.length < 10_000) log += chunk;
  });
  const line = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
    readline.createInterface({ input: child.stdout }).once("line", resolve);
    child.once("error", reject);
    child.once("close", () => reject(new Error(`svc-mock-server did not start: ${log.trim()}`)));
    child.stdout.once("data", () => clearTimeout(timer));
  });
  // The mock ends when this process does, as its standard input then closes; until then it does not hold it.
  for (const handle of [child, child.stdin, child.stdout, child.stderr]) handle.unref();
  return new Mock(JSON.parse(line), child);
}

/** Returns the mock that an environment names, such as that of `svc mock exec`. */
function attachMock(env = process.env) {
  return new Mock(Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith("SVC_"))));
}

let shared;

/** Returns the mock that all tests of this process share: that of `SVC_CONTROL_URL`, or one that is started. */
function sharedMock() {
  shared ??= process.env.SVC_CONTROL_URL ? Promise.resolve(attachMock()) : startMock();
  return shared;
}

/** Ends the shared mock, if one was started. */
async function stopSharedMock() {
  const mock = await shared;
  shared = undefined;
  await mock?.stop();
}

/** Returns a test that gets a workspace of its own on the shared mock; it works with every test runner. */
function withWorkspace(test, options) {
  return async () => {
    const mock = await sharedMock();
    const workspace = await mock.workspace(options);
    try {
      await test({ mock, workspace });
    } finally {
      await workspace.close();
    }
  };
}

module.exports = {
  ControlError,
  WebhookReceiver,
  Workspace,
  attachMock,
  findProgram,
  sharedMock,
  startMock,
  stopSharedMock,
  withWorkspace,
};
