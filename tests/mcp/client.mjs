// The official TypeScript client against an MCP server of svc: lists its tools and calls them.
//
//     node client.mjs http                     SVC_MCP_URL with SVC_DEVELOPER_API_KEY
//     node client.mjs stdio COMMAND [ARG…]     a server that speaks over its standard streams
//
// Each runs once in every revision that client and server share. Exits with 1 at the first thing
// that is not as it should be.

import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const PAID = ["image_generate", "video_generate", "music_generate", "format_run", "agent_completion"];
const READS = ["jobs_status", "jobs_result", "run_status", "run_result", "balance", "models_list"];
const REVISIONS = { "2025-11-25": "legacy", "2026-07-28": "auto" };

function transport(how, [command, ...args]) {
    if (how === "http") {
        const headers = { authorization: `Bearer ${process.env.SVC_DEVELOPER_API_KEY}` };
        return new StreamableHTTPClientTransport(new URL(process.env.SVC_MCP_URL), { requestInit: { headers } });
    }
    return new StdioClientTransport({ command, args, env: process.env });
}

async function succeed(client, name, args) {
    // The client itself holds structured content against the tool's output schema.
    const result = await client.callTool({ name, arguments: args });
    assert(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    return result;
}

async function refuse(client, name, args, code) {
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError, true, name);
    assert.equal(JSON.parse(result.content[0].text).error.code, code);
}

async function wait(client, name, args) {
    for (let turn = 0; turn < 200; turn += 1) {
        const { structuredContent: status } = await succeed(client, name, args);
        if (status.terminal) return status;
        const seconds = Math.min(status.next_poll_after_seconds, 0.2);
        await new Promise((done) => setTimeout(done, seconds * 1000));
    }
    throw new Error(`${name} ${JSON.stringify(args)} is not terminal`);
}

async function exercise(client) {
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    for (const name of [...PAID, ...READS]) assert(names.includes(name), `${name} of ${names}`);
    for (const tool of tools) {
        const paid = PAID.includes(tool.name);
        assert.equal(tool.annotations.readOnlyHint, !paid, tool.name);
        // `svc mcp serve` has the words of its options, and takes those of the service as well.
        const limits = ["max_price", "max_spend_usd"].filter((name) => name in tool.inputSchema.properties);
        assert.equal(limits.length, paid ? 1 : 0, tool.name);
        assert.equal(tool.outputSchema.type, "object", tool.name);
    }

    const order = { prompt: "a red fox in snow", max_spend_usd: 1 };
    const image = await succeed(client, "image_generate", order);
    const job = { job_id: image.structuredContent.job_id };
    assert.equal((await wait(client, "jobs_status", job)).status, "completed");
    const result = await succeed(client, "jobs_result", job);
    const link = result.content.find((block) => block.type === "resource_link");
    assert.equal(link.mimeType, "image/png");
    const file = new Uint8Array(await (await fetch(link.uri)).arrayBuffer());
    assert.deepEqual([...file.slice(1, 4)], [..."PNG"].map((letter) => letter.charCodeAt(0)));

    for (const [name, args] of [
        ["video_generate", { prompt: "a red fox", duration: 5, max_spend_usd: 1 }],
        ["music_generate", { prompt: "a waltz", duration: 10, max_spend_usd: 1 }],
    ]) {
        const made = await succeed(client, name, args);
        const status = await wait(client, "jobs_status", { job_id: made.structuredContent.job_id });
        assert.equal(status.status, "completed", name);
    }

    for (const [name, args] of [
        ["format_run", { format_id: "demo/product-shot", instruction: "a cup", max_spend_usd: 2 }],
        ["agent_completion", { instruction: "a poem", generation_spend_cap_usd: 1, max_spend_usd: 2 }],
    ]) {
        const run = { run_id: (await succeed(client, name, args)).structuredContent.run_id };
        assert.equal((await wait(client, "run_status", run)).status, "completed", name);
        const receipt = (await succeed(client, "run_result", run)).structuredContent;
        assert.equal(receipt.status, "completed", name);
    }

    await refuse(client, "video_generate", { prompt: "x", max_spend_usd: 0.0001 }, "max_spend_exceeded");
    await refuse(client, "jobs_status", { job_id: "job_none" }, "job_not_found");
    await succeed(client, "balance", {});
    await succeed(client, "models_list", {});
}

const [how, ...command] = process.argv.slice(2);
for (const [revision, mode] of Object.entries(REVISIONS)) {
    const client = new Client({ name: "svc-tests", version: "1" }, { versionNegotiation: { mode } });
    await client.connect(transport(how, command));
    assert.equal(client.getNegotiatedProtocolVersion(), revision);
    await exercise(client);
    await client.close();
    console.log(`typescript: ${how}, ${revision}: passed`);
}
