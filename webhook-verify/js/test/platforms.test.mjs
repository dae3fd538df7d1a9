// The entries for Workers and browsers, which get the module in their own ways.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const folder = new URL("node_modules/svc-webhook-verify/", pathToFileURL(`${process.cwd()}/`));
const headers = {
  "x-svc-webhook-timestamp": "1700000000",
  "x-svc-webhook-signature": "svc-v1=8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142",
};
const body = '{"event":"job.completed","job_id":"job_123"}';

function check({ verify, Secrets }) {
  assert.equal(verify(headers, body, new Secrets("whsec_newest"), { now: 1_700_000_007 }), true);
  assert.equal(verify(headers, "{}", "whsec_newest", { now: 1_700_000_007 }), false);
}

test("the entry for browsers fetches the module", async (context) => {
  context.mock.method(globalThis, "fetch", async (url) => new Response(readFileSync(url)));
  check(await import(new URL("browser.js", folder)));
});

test("the entry for Workers imports the module", async () => {
  // What workerd does: an import of WebAssembly is a WebAssembly.Module.
  const hooks = `export async function load(url, context, next) {
    if (!url.endsWith(".wasm")) return next(url, context);
    const source = \`import { readFileSync } from "node:fs";
      export default new WebAssembly.Module(readFileSync(new URL(\${JSON.stringify(url)})));\`;
    return { format: "module", source, shortCircuit: true };
  }`;
  register(`data:text/javascript,${encodeURIComponent(hooks)}`);
  check(await import(new URL("workerd.js", folder)));
});
