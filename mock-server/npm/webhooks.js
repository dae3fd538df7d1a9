// A receiver of webhooks that verifies them.
"use strict";

const crypto = require("node:crypto");
const http = require("node:http");

const TOLERANCE_SECONDS = 300;

/**
 * Returns whether one of the secrets signed the delivery within the last five minutes. It is for deliveries of the
 * mock: a receiver that strangers can reach uses `svc-webhook-verify`.
 */
function verify(secrets, headers, body) {
  const timestamp = String(headers["x-svc-webhook-timestamp"] ?? "");
  if (!/^[0-9]{1,15}$/.test(timestamp)) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const received = String(headers["x-svc-webhook-signature"] ?? "").split(",");
  return secrets.some((secret) => {
    const tag = crypto.createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
    const expected = Buffer.from(`svc-v1=${tag}`);
    return received.some((entry) => {
      const actual = Buffer.from(entry.trim());
      return actual.length === expected.length && crypto.timingSafeEqual(actual, expected);
    });
  });
}

class WebhookReceiver {
  /**
   * Starts a receiver of one workspace's webhooks. `Workspace.webhooks()` calls it. `SVC_WEBHOOK_HOST` is the name by
   * which a mock on another machine or in a container reaches this one.
   */
  static async start(workspace, origin) {
    const receiver = new WebhookReceiver(workspace, origin);
    const host = process.env.SVC_WEBHOOK_HOST;
    await new Promise((resolve, reject) => {
      receiver._server.once("error", reject).listen(0, host ? "0.0.0.0" : "127.0.0.1", resolve);
    });
    const to = `http://${host || "127.0.0.1"}:${receiver._server.address().port}`;
    const route = await workspace.mock.control("POST", "/webhook-routes", { origin, to, workspace: workspace.id });
    receiver._route = route.id;
    return receiver;
  }

  constructor(workspace, origin) {
    this.url = `${origin}/webhooks`;
    this.secrets = [workspace.webhookSecret];
    this.events = [];
    this.refused = [];
    this._mock = workspace.mock;
    this._answers = [];
    this._waiters = new Set();
    this._server = http.createServer((request, response) => {
      const chunks = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => {
        response.writeHead(this._receive(request.url, request.headers, Buffer.concat(chunks)));
        response.end();
      });
    });
    this._server.unref();
  }

  answer(...statuses) {
    this._answers.push(...statuses);
  }

  wait(event, { count = 1, timeout = 30 } = {}) {
    const find = () => this.events.filter((received) => !event || received.event === event);
    return new Promise((resolve, reject) => {
      const check = () => {
        if (find().length < count) return;
        clearTimeout(timer);
        this._waiters.delete(check);
        resolve(find().slice(0, count));
      };
      const timer = setTimeout(() => {
        this._waiters.delete(check);
        const others = this.events.map((received) => received.event);
        const refused = this.refused.map((received) => `${received.event} (${received.answered})`);
        reject(
          new Error(
            `${find().length} of ${count} webhooks ${event ?? ""} after ${timeout} s; ` +
              `others: [${others}], refused: [${refused}]`,
          ),
        );
      }, timeout * 1000);
      this._waiters.add(check);
      check();
    });
  }

  async close() {
    if (this._route === undefined) return;
    const route = this._route;
    this._route = undefined;
    await this._mock.control("DELETE", `/webhook-routes/${route}`);
    this._server.closeAllConnections();
    await new Promise((resolve) => this._server.close(resolve));
  }

  _receive(path, headers, body) {
    const genuine = verify(this.secrets, headers, body);
    const fields = genuine ? JSON.parse(body.toString()) : {};
    const answered = genuine ? (this._answers.shift() ?? 204) : 401;
    const received = { event: fields.event ?? "", body: fields, path, headers, answered };
    (answered < 300 ? this.events : this.refused).push(received);
    for (const check of [...this._waiters]) check();
    return answered;
  }
}

module.exports = { WebhookReceiver, verify };
