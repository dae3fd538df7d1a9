"""The official Python client against an MCP server of svc: lists its tools and calls them.

    python client.py http                      SVC_MCP_URL with SVC_DEVELOPER_API_KEY
    python client.py stdio COMMAND [ARG…]      a server that speaks over its standard streams

Each runs once in every revision that client and server share. Exits with 1 at the first thing that
is not as it should be.
"""

import asyncio
import json
import os
import sys
import uuid

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

PAID = {"image_generate", "video_generate", "music_generate", "format_run", "agent_completion"}
READS = {"jobs_status", "jobs_result", "run_status", "run_result", "balance", "models_list"}
REVISIONS = {"2025-11-25": "legacy", "2026-07-28": "auto"}


def transport(how, command, http):
    if how == "http":
        return streamable_http_client(os.environ["SVC_MCP_URL"], http_client=http)
    return stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ)))


async def succeed(client, tool, arguments):
    # The client itself holds structured content against the tool's output schema.
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, (tool, result.content)
    assert result.structured_content is not None, tool
    assert json.loads(result.content[0].text) == result.structured_content, tool
    return result


async def refuse(client, tool, arguments, code):
    result = await client.call_tool(tool, arguments)
    assert result.is_error, (tool, result)
    error = json.loads(result.content[0].text)["error"]
    assert error["code"] == code, error


async def wait(client, tool, arguments):
    for _ in range(200):
        status = (await succeed(client, tool, arguments)).structured_content
        if status["terminal"]:
            return status
        await asyncio.sleep(min(status["next_poll_after_seconds"], 0.2))
    raise AssertionError(f"{tool} {arguments} is not terminal")


async def exercise(client):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert PAID | READS <= set(tools), sorted(tools)
    for name, tool in tools.items():
        paid = name in PAID
        assert tool.input_schema["type"] == "object" and tool.output_schema["type"] == "object", name
        assert tool.annotations.read_only_hint is not paid, name
        # `svc mcp serve` has the words of its options, and takes those of the service as well.
        limits = {"max_price", "max_spend_usd"} & set(tool.input_schema["properties"])
        assert len(limits) == (1 if paid else 0), name

    order = {"prompt": "a red fox in snow", "max_spend_usd": 1}
    if "idempotency_key" in tools["image_generate"].input_schema["properties"]:
        order["idempotency_key"] = str(uuid.uuid4())
    image = (await succeed(client, "image_generate", order)).structured_content
    job = {"job_id": image["job_id"]}
    assert (await wait(client, "jobs_status", job))["status"] == "completed"
    result = await succeed(client, "jobs_result", job)
    links = [block for block in result.content if block.type == "resource_link"]
    assert links and links[0].mime_type == "image/png", result.content
    async with httpx2.AsyncClient() as http:
        file = await http.get(str(links[0].uri))
        assert file.content.startswith(b"\x89PNG"), file.status_code

    for tool, arguments in [
        ("video_generate", {"prompt": "a red fox", "duration": 5, "max_spend_usd": 1}),
        ("music_generate", {"prompt": "a waltz", "duration": 10, "max_spend_usd": 1}),
    ]:
        made = (await succeed(client, tool, arguments)).structured_content
        assert (await wait(client, "jobs_status", {"job_id": made["job_id"]}))["status"] == "completed"

    agents = [
        ("format_run", {"format_id": "demo/product-shot", "instruction": "a cup", "max_spend_usd": 2}),
        ("agent_completion", {"instruction": "a poem", "generation_spend_cap_usd": 1, "max_spend_usd": 2}),
    ]
    for tool, arguments in agents:
        run = {"run_id": (await succeed(client, tool, arguments)).structured_content["run_id"]}
        assert (await wait(client, "run_status", run))["status"] == "completed"
        assert (await succeed(client, "run_result", run)).structured_content["status"] == "completed"

    await refuse(client, "video_generate", {"prompt": "x", "max_spend_usd": 0.0001}, "max_spend_exceeded")
    await refuse(client, "jobs_status", {"job_id": "job_none"}, "job_not_found")
    await succeed(client, "balance", {})
    await succeed(client, "models_list", {})


async def main(how, command):
    for revision, mode in REVISIONS.items():
        key = {"authorization": f"Bearer {os.environ.get('SVC_DEVELOPER_API_KEY', '')}"}
        async with httpx2.AsyncClient(headers=key) as http:
            async with Client(transport(how, command, http), mode=mode) as client:
                spoken = client.protocol_version
                assert spoken == revision, (spoken, revision)
                await exercise(client)
        print(f"python: {how}, {revision}: passed")


asyncio.run(main(sys.argv[1], sys.argv[2:]))
