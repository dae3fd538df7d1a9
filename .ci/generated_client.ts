// Submits a job, waits for it and reads its result, is refused with an error code, and starts a run of a Format,
// with types that a public generator made from the document. Arguments: the URL and a key of the open surface, and
// of the developer surface.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./openapi.js";

type Schemas = components["schemas"];

const [openUrl, openKey, developerUrl, developerKey] = process.argv.slice(2);

function client(baseUrl = "", key = "") {
    return createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });
}

function data<T>(response: { data?: { data: T }; error?: unknown }): T {
    assert(response.data, JSON.stringify(response.error));
    return response.data.data;
}

const open = client(openUrl, openKey);

function submit(body: Schemas["ImageGenerate"]) {
    const header = { "Idempotency-Key": "generated-2" };
    return open.POST("/v1/image-router/generate", { body, params: { header } });
}

const body = { model: "image-i", prompt: "a red fox", num_images: 2 };
const receipt = data(await submit(body));
const path = { id: receipt.job.id };
let status: Pick<Schemas["JobStatusPayload"], "terminal" | "next_poll_after_seconds">;
status = { terminal: false, next_poll_after_seconds: receipt.next_poll_after_seconds };
for (let polls = 0; polls < 100 && !status.terminal; polls++) {
    await sleep(1000 * Math.min(status.next_poll_after_seconds, 1));
    status = data(await open.GET("/v1/jobs/{id}/status", { params: { path } }));
}
const result = data(await open.GET("/v1/jobs/{id}/result", { params: { path } }));
assert.equal(result.status, "completed");
const urls: string[] = (result.artifacts ?? []).map((artifact) => artifact.url);
assert.equal(urls.length, 2);
console.log(`${path.id} completed: ${urls[0]}`);

const repeated = data(await submit(body));
assert.equal(repeated.job.id, path.id, "the same key and body are the same job");
const { error, response } = await submit({ ...body, num_images: 1 });
assert(error, "the same key with another body is refused");
const code: Schemas["ErrorCode"] = error.error.code;
const message: string = error.error.message;
assert.deepEqual([response.status, code], [409, "idempotency_conflict"], message);

const developer = client(developerUrl, developerKey);
const run: Schemas["FormatRunCreate"] = {
    instruction: "A teaser for a jazz night",
    generation_spend_cap_usd: 1.5,
    output_schema: { type: "object", properties: { title: { type: "string" } } },
};
const params = { path: { format_id: "fmt_demo" } };
const started = data(await developer.POST("/v1/formats/{format_id}/runs", { body: run, params }));
assert(started.run_id);
console.log(`${started.run_id} ${started.status}`);
