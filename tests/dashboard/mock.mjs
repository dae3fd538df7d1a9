// A mock server, a client of the service, and a receiver of webhooks.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import { createInterface } from "node:readline";

export class Mock {
  /** Starts a mock on free ports. */
  static async start(...options) {
    const mock = new Mock();
    mock.process = spawn(process.env.MOCK, ["--port-base", "0", "--json", ...options], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [line] = await once(createInterface(mock.process.stdout), "line");
    mock.env = JSON.parse(line);
    return mock;
  }

  get page() {
    return this.env.SVC_CONTROL_URL;
  }

  stop() {
    this.process.kill();
    return once(this.process, "exit");
  }

  /** Sends a request to the service, with a key of the open or of the developer surface. */
  async send(path, body, { key = this.env.SVC_OPEN_API_KEY, host = "SVC_BASE_URL" } = {}) {
    const response = await fetch(this.env[host] + path, {
      method: body ? "POST" : "GET",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
    return { status: response.status, body: await response.json().catch(() => null) };
  }

  develop(path, body) {
    return this.send(path, body, { key: this.env.SVC_DEVELOPER_API_KEY, host: "SVC_DEVELOPER_BASE_URL" });
  }

  async image(prompt, fields = {}) {
    const { body } = await this.send("/v1/image-router/generate", { model: "image-i", prompt, ...fields });
    return body.data.job.id;
  }

  async video(prompt, fields = {}) {
    const request = { model: "video-f", prompt, duration: 5, ...fields };
    const { body } = await this.send("/v1/video-router/generate", request);
    return body.data.job.id;
  }

  async control(method, path, body) {
    const response = await fetch(this.page + path, { method, body: body && JSON.stringify(body) });
    return response.json();
  }

  advance(seconds) {
    return this.control("POST", "/clock/advance", { seconds });
  }
}

/** Starts a server that answers webhooks with the statuses in order, and repeats the last one. */
export async function startReceiver(...statuses) {
  const received = [];
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    received.push(JSON.parse(Buffer.concat(chunks)));
    const status = statuses[Math.min(received.length, statuses.length) - 1];
    response.writeHead(status).end(status < 400 ? "" : "the disk is full");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { received, url: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}
