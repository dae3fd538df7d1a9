// Requests to the control API of the mock.
"use strict";

const http = require("node:http");

/** The control API refused a request. */
class ControlError extends Error {
  constructor(status, body) {
    super(`${status} ${body?.error?.code ?? ""}: ${body?.error?.message ?? JSON.stringify(body)}`);
    this.name = "ControlError";
    this.status = status;
    this.code = body?.error?.code;
    this.body = body;
  }
}

/**
 * Sends one request and returns its decoded response. It uses neither `fetch`, which tests replace, nor a
 * connection that outlives it, which would hold the process.
 */
function send(method, url, body, query = {}) {
  const target = new URL(url);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) target.searchParams.set(name, String(value));
  }
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const request = http.request(target, { method, headers, agent: false }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        let decoded = null;
        try {
          decoded = text ? JSON.parse(text) : null;
        } catch {
          decoded = text;
        }
        if (response.statusCode < 300) resolve(decoded);
        else reject(new ControlError(response.statusCode, decoded));
      });
    });
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

module.exports = { ControlError, send };
