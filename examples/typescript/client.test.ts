/** Tests of the client against the mock: `svc mock exec --speed 50 -- npm test`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, ServiceError } from "./client.js";

const { SVC_BASE_URL = "", SVC_CONTROL_URL } = process.env;

/** Sends a request to the control API of the mock. */
async function control<T>(method: string, path: string, body?: object): Promise<T> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(SVC_CONTROL_URL + path, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return (await response.json()) as T;
}

interface Entry {
  workspace: string;
  kind: string;
  job_id: string;
}

/** A workspace of its own: other tests do not see its jobs, and do not spend its money. */
async function setUp() {
  const workspace = `ws_${crypto.randomUUID()}`;
  const { key } = await control<{ key: string }>("POST", "/keys", { kind: "open", workspace });
  const charges = async () => {
    const { data } = await control<{ data: Entry[] }>("GET", "/ledger");
    return data.filter((entry) => entry.workspace === workspace && entry.kind === "capture");
  };
  return { client: new Client(SVC_BASE_URL, key), charges };
}

test("an image is generated and can be downloaded", async () => {
  const { client } = await setUp();
  const job = await client.generateImage("a red fox in snow");
  const [artifact] = await client.wait(job.id);
  assert.ok(artifact);
  const file = new Uint8Array(await (await fetch(artifact.url)).arrayBuffer());
  assert.deepEqual([...file.slice(1, 4)], [..."PNG"].map((letter) => letter.charCodeAt(0)));
});

test("a lost response is paid for once", async () => {
  const { client, charges } = await setUp();
  const jobs: string[] = [];
  for (const kind of ["drop_after", "truncate"]) {
    const fault = { surface: "open", operation: "image_generate", kind, times: 1 };
    await control("POST", "/faults", fault);
    const job = await client.generateImage("a red fox in snow");
    await client.wait(job.id);
    jobs.push(job.id);
  }
  assert.deepEqual((await charges()).map((charge) => charge.job_id).sort(), jobs.sort());
});

test("a failed job is an error with its code and costs nothing", async () => {
  const { client, charges } = await setUp();
  const job = await client.generateImage("a red fox in snow [mock:fail=provider_unavailable]");
  await assert.rejects(client.wait(job.id), (error) => error instanceof ServiceError && error.code === "provider_unavailable");
  assert.deepEqual(await charges(), []);
});

test("a refused submit is not repeated", async () => {
  const { client, charges } = await setUp();
  const submit = client.generateImage("a red fox in snow [mock:refuse=insufficient_funds]");
  await assert.rejects(submit, (error) => error instanceof ServiceError && error.status === 402);
  assert.deepEqual(await charges(), []);
});
