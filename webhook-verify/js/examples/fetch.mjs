// A receiver for all that hand over a Request: Workers, Deno, Bun and others. With Node: `node fetch.mjs`.

import { SecretFile, SignatureError, verifyOrThrow } from "svc-webhook-verify";

// In a Worker, `new Secrets(env.SVC_WEBHOOK_SECRET)`: a rotation is another deployment.
const secrets = new SecretFile(process.env.SVC_WEBHOOK_SECRET_FILE);

async function receive(request) {
  if (request.method !== "POST") return new Response(null, { status: 405 });
  const body = await request.arrayBuffer();
  try {
    verifyOrThrow(request.headers, body, secrets);
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    console.warn(`rejected a delivery: ${error.message}`);
    return new Response(null, { status: error.status });
  }
  // Store the body before it is acknowledged, and handle it once: deliveries are repeated.
  return new Response(null, { status: 204 });
}

const server = { fetch: receive, hostname: "127.0.0.1", port: Number(process.env.PORT ?? 8000) };
const { serve } = await import("@hono/node-server");
serve(server);
