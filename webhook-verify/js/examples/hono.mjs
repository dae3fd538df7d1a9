// A receiver with Hono: `node hono.mjs`.

import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { SecretFile, SignatureError, verifyOrThrow } from "svc-webhook-verify";

const secrets = new SecretFile(process.env.SVC_WEBHOOK_SECRET_FILE);
const app = new Hono();

app.post("/webhooks", async (context) => {
  const body = await context.req.arrayBuffer();
  try {
    verifyOrThrow(context.req.raw.headers, body, secrets);
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    console.warn(`rejected a delivery: ${error.message}`);
    return context.body(null, error.status);
  }
  // Store the body before it is acknowledged, and handle it once: deliveries are repeated.
  return context.body(null, 204);
});

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env.PORT ?? 8000) });
