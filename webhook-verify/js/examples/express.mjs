// A receiver with Express: `node express.mjs`.

import express from "express";
import { SecretFile, SignatureError, verifyOrThrow } from "svc-webhook-verify";

const secrets = new SecretFile(process.env.SVC_WEBHOOK_SECRET_FILE);
const app = express();

// The raw body, which the signature covers: not express.json().
app.post("/webhooks", express.raw({ type: "*/*", limit: "2mb" }), (request, response) => {
  try {
    verifyOrThrow(request.headers, request.body ?? "", secrets);
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    console.warn(`rejected a delivery: ${error.message}`);
    response.status(error.status).end();
    return;
  }
  // Store the body before it is acknowledged, and handle it once: deliveries are repeated.
  response.status(204).end();
});

app.listen(Number(process.env.PORT ?? 8000), "127.0.0.1");
