// A client as small as a test can have it: a submit that is repeated with the same key.
"use strict";

const crypto = require("node:crypto");

async function submit(env, prompt, fields = {}, attempts = 5) {
  const headers = {
    "x-api-key": env.SVC_OPEN_API_KEY,
    "content-type": "application/json",
    "idempotency-key": crypto.randomUUID(),
  };
  const body = JSON.stringify({ model: "image-i", prompt, ...fields });
  for (let attempt = 1; ; attempt += 1) {
    try {
      const url = `${env.SVC_BASE_URL}/v1/image-router/generate`;
      const response = await fetch(url, { method: "POST", headers, body });
      const text = await response.text();
      if (response.status >= 500) throw new Error(text);
      return { status: response.status, job: JSON.parse(text).data?.job.id };
    } catch (error) {
      if (attempt === attempts) throw error;
    }
  }
}

module.exports = { submit };
