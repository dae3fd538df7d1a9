// A workspace of the mock: all that one test needs, and nothing that another one sees.
"use strict";

const { AssertionError } = require("node:assert");
const { ControlError } = require("./control.js");
const { WebhookReceiver } = require("./webhooks.js");

class Workspace {
  constructor(mock, created) {
    this.mock = mock;
    this.id = created.id;
    this.openApiKey = created.open_api_key;
    this.developerApiKey = created.developer_api_key;
    this.webhookSecret = created.webhook_secret;
    this.env = created.env;
    this._receivers = [];
  }

  get baseUrl() {
    return this.env.SVC_BASE_URL;
  }

  get developerBaseUrl() {
    return this.env.SVC_DEVELOPER_BASE_URL;
  }

  async fault(kind, fields = {}) {
    return (await this.mock.control("POST", "/faults", { kind, workspace: this.id, ...fields })).data;
  }

  requests(filters) {
    return this._list("/requests", filters);
  }

  jobs(filters) {
    return this._list("/jobs", filters);
  }

  deliveries(filters) {
    return this._list("/deliveries", filters);
  }

  async ledger(kind) {
    // For a page the mock does not copy its state, as it does for the whole ledger.
    const entries = [];
    for (let cursor = "0"; cursor !== null; ) {
      const page = await this.mock.control("GET", "/ledger", undefined, { workspace: this.id, limit: 1000, cursor });
      entries.push(...page.data);
      cursor = page.next_cursor;
    }
    return entries.filter((entry) => !kind || entry.kind === kind);
  }

  async balanceUsd() {
    const { workspaces } = await this.mock.control("GET", "/ledger", undefined, { workspace: this.id, limit: 1 });
    return workspaces[this.id].available_usd;
  }

  async verify({ count = 1, ...expected }) {
    try {
      await this.mock.control("POST", "/verify", { workspace: this.id, count, ...expected });
    } catch (error) {
      if (!(error instanceof ControlError) || error.code !== "verification_failed") throw error;
      throw new AssertionError({ message: JSON.stringify(error.body, null, 2) });
    }
  }

  async webhooks(origin = "https://hooks.test") {
    const receiver = await WebhookReceiver.start(this, origin);
    this._receivers.push(receiver);
    return receiver;
  }

  async close() {
    await Promise.all(this._receivers.splice(0).map((receiver) => receiver.close()));
    await this.mock.control("DELETE", "/faults", undefined, { workspace: this.id });
  }

  async _list(path, { count, timeout = 30, ...filters } = {}) {
    const query = { workspace: this.id, ...filters };
    if (count === undefined) return (await this.mock.control("GET", path, undefined, query)).data;
    const deadline = Date.now() + timeout * 1000;
    for (;;) {
      // The mock waits for whole seconds.
      const wait = Math.max(0, Math.min(60, Math.ceil((deadline - Date.now()) / 1000)));
      const page = await this.mock.control("GET", path, undefined, { ...query, count, wait });
      if (page.satisfied) return page.data;
      if (Date.now() >= deadline) {
        throw new Error(`${page.matched} of ${count} in ${path} after ${timeout} s: ${JSON.stringify(query)}`);
      }
    }
  }
}

module.exports = { Workspace };
