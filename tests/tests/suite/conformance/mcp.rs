//! The MCP endpoint, called with raw JSON-RPC: the protocol, and tools with their limits.

use super::*;

scripts! {
    a_developer_key_is_required r#"
        for <client> in developer: developer:svc_open_demo
          <client> mcp {"method": "tools/list"} => 401 unauthorized
        developer x-api-key=svc_dev_demo mcp {"method": "tools/list"} => 401 unauthorized
        developer mcp {"method": "tools/list"} => 200
        developer /mcp => 405 method_not_allowed @allow=POST
    "#
    a_client_initializes_and_calls_tools r#"
        developer mcp {"method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}} => 200 id=7 result.protocolVersion=2025-11-25 result.capabilities={"tools":{"listChanged":false}}
        developer mcp-protocol-version=2025-11-25 mcp {"method": "ping"} => 200 result={}
        developer mcp-protocol-version=2025-11-25 mcp {"method": "tools/list"} => 200 result.tools.0.name=image_generate !result.ttlMs result.tools.*.name*=video_generate result.tools.*.name*=music_generate result.tools.*.name*=format_run result.tools.*.name*=agent_completion
        developer mcp {"params": {"name": "image_generate", "arguments": {"prompt": "a fox"}}} => 200 result.isError=false result.structuredContent.job_id=<id>
        developer mcp {"params": {"name": "jobs_status", "arguments": {"job_id": "<id>"}}} => 200 result.structuredContent.status=queued result.structuredContent.terminal=false
        advance 2
        developer mcp {"params": {"name": "jobs_result", "arguments": {"job_id": "<id>"}}} => 200 result.structuredContent.status=completed result.content.1.type=resource_link result.content.1.mimeType=image/png result.content.1.uri=<url>
        media <url> => 200
        for <message> in {"jsonrpc":"2.0","method":"notifications/initialized"} {"jsonrpc":"2.0","id":1,"result":{}}
          developer /mcp <message> => 202 %=""
    "#
    the_current_revision_is_stateless r#"
        for <meta> in {"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}
          developer mcp {"method": "tools/list"} => 200 result.tools=<tools>
          developer mcp-protocol-version=2026-07-28 mcp-method=tools/list mcp {"method": "tools/list", "params": {"_meta": <meta>}} => 200 result.tools=<tools> result.resultType=complete result.cacheScope=public
          developer mcp-protocol-version=2026-07-28 mcp-method=server/discover mcp {"method": "server/discover", "params": {"_meta": <meta>}} => 200 result.supportedVersions=["2026-07-28","2025-11-25","2025-06-18","2025-03-26"]
          developer mcp-protocol-version=2026-07-28 mcp-method=tools/call mcp-name=balance mcp {"params": {"name": "balance", "arguments": {}, "_meta": <meta>}} => 200 result.structuredContent.available_usd=100.0000
          developer mcp-protocol-version=2026-07-28 mcp-method=tools/call mcp-name=balance mcp {"params": {"name": "jobs_status", "_meta": <meta>}} => 400 code=-32020
          # Methods of the previous revision only.
          for <method> in ping initialize resources/list
            developer mcp-protocol-version=2026-07-28 mcp-method=<method> mcp {"method": "<method>", "params": {"_meta": <meta>}} => 404 code=-32601
    "#
    headers_must_agree_with_the_message r#"
        for <meta> in {"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}
          for <version> <method> <name> <status> <code> in
            | mcp-protocol-version=2026-07-28 mcp-method=tools/call mcp-name=balance 200 null
            | mcp-protocol-version=2026-07-28 mcp-method=tools/call mcp-name="=?base64?YmFsYW5jZQ==?=" 200 null
            | x=x mcp-method=tools/call mcp-name=balance 400 -32020
            | mcp-protocol-version=other mcp-method=tools/call mcp-name=balance 400 -32020
            | mcp-protocol-version=2026-07-28 x=x mcp-name=balance 400 -32020
            | mcp-protocol-version=2026-07-28 mcp-method=other mcp-name=balance 400 -32020
            | mcp-protocol-version=2026-07-28 mcp-method=tools/call x=x 400 -32020
            | mcp-protocol-version=2026-07-28 mcp-method=tools/call mcp-name=other 400 -32020
            developer <version> <method> <name> mcp {"params": {"name": "balance", "_meta": <meta>}} => <status> /error.code=<code>
          for <again> in mcp-protocol-version=2026-07-28 mcp-method=tools/call mcp-name=balance
            developer mcp-protocol-version=2026-07-28 mcp-method=tools/call mcp-name=balance <again> mcp {"params": {"name": "balance", "_meta": <meta>}} => 400 code=-32020
        for <header> <meta> <code> in
          | 2026-07-28 {"io.modelcontextprotocol/protocolVersion":"2026-07-28"} -32602
          | 2030-01-01 {"io.modelcontextprotocol/protocolVersion":"2030-01-01","io.modelcontextprotocol/clientCapabilities":{}} -32022
          | 2026-07-28 {"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}} -32020
          developer mcp-protocol-version=<header> mcp-method=tools/call mcp-name=balance mcp {"params": {"name": "balance", "_meta": <meta>}} => 400 code=<code>
        for <version> <status> <code> in 2025-11-25 200 null, 2026-07-28 400 -32602, 2025-06-18 200 null, 2025-03-26 200 null, 2024-11-05 400 -32022, 1900-01-01 400 -32022, "" 400 -32022
          developer mcp-protocol-version=<version> mcp {"method": "ping"} => <status> /error.code=<code>
    "#
    errors_name_the_invalid_argument r#"
        for <tool> <argument> <field> in
          | image_generate {"mode":"sync"} mode
          | image_generate {"max_spend_usd":"1"} max_spend_usd
          | image_generate {"max_spend_usd":-1} max_spend_usd
          | image_generate {"max_spend_usd":null} max_spend_usd
          | image_generate {"max_spend_usd":1e-7} max_spend_usd
          | image_generate {"idempotency_key":1} idempotency_key
          | image_generate {"idempotency_key":"a\u0000"} idempotency_key
          | image_generate {"idempotency_key":"a\n"} idempotency_key
          | jobs_status {} job_id
          | jobs_status {"job_id":""} job_id
          | jobs_status {"job_id":1} job_id
          developer mcp {"params": {"name": "<tool>", "arguments": <argument>}} => 200 result.isError=true result.content.0.text*="\"field\":\"<field>\""
    "#
    invalid_messages_are_protocol_errors r#"
        for <message> <status> <code> in
          | {"method":"no/such"} 200 -32601
          | {"params":{"name":"no_such"}} 200 -32602
          | {"params":{}} 200 -32602
          | {"params":{"name":"balance","arguments":[]}} 200 -32602
          | {"method":"tools/list","params":{"cursor":"x"}} 200 -32602
          | {"method":"initialize","params":{}} 200 -32602
          developer mcp <message> => <status> error.code=<code> /id=7
        for <message> <id> <code> in
          | 3 null -32600
          | [{"jsonrpc":"2.0","id":1,"method":"ping"}] null -32600
          | {"id":1,"method":"ping"} 1 -32600
          | {"jsonrpc":"1.0","id":"x","method":"ping"} x -32600
          | {"jsonrpc":"2.0","id":1} 1 -32600
          | {"jsonrpc":"2.0","id":1,"method":2} 1 -32600
          | {"jsonrpc":"2.0","id":null,"method":"ping"} null -32600
          | {"jsonrpc":"2.0","id":1.5,"method":"ping"} null -32600
          | {"jsonrpc":"2.0","id":1,"method":"ping","params":[]} 1 -32602
          developer POST /mcp <message> => 400 code=<code> /id=<id>
        for <version> in 1900-01-01 2024-11-05
          developer mcp-protocol-version=<version> mcp {"method": "ping"} => 400 code=-32022 data.supported=["2026-07-28","2025-11-25","2025-06-18","2025-03-26"]
        developer origin=https://evil.example mcp {"method": "ping"} => 403
        developer accept=text/plain mcp {"method": "ping"} => 406
        for <accepted> in application/json */*
          developer accept=<accepted> mcp {"method": "ping"} => 200 result={}
    "#
    requests_count_as_reads_and_submits_as_writes r#"
        developer mcp {"method": "tools/list"} => 200 @ratelimit-limit=4800
        developer /v1/trending-videos/search {"query": "x"} => 200 @ratelimit-remaining=119
        developer mcp {"params": {"name": "image_generate", "arguments": {"prompt": "x"}}} => 200 result.structuredContent.job_id=<id>
        repeat 3
          developer mcp {"params": {"name": "jobs_status", "arguments": {"job_id": "<id>"}}} => 200 result.isError=false
        developer /v1/trending-videos/search {"query": "x"} => 200 @ratelimit-remaining=117
        repeat 117
          developer /v1/trending-videos/search {"query": "x"} => 200
        developer mcp {"params": {"name": "image_generate", "arguments": {"prompt": "x"}}} => 200 result.isError=true result.content.0.text*=rate_limited result.content.0.text*="\"scope\":\"write\"" result.content.0.text*="\"retry_after_seconds\":60"
        developer mcp {"params": {"name": "balance"}} => 200 result.isError=false
        control /jobs => 200 #=1
    "#
    an_idempotency_key_prevents_duplicate_jobs r#"
        for <step> in 1 2
          developer mcp {"params": {"name": "music_generate", "arguments": {"prompt": "a waltz", "idempotency_key": "order-1"}}} => 200 result.isError=false
          control /jobs => 200 #=1
        developer mcp {"params": {"name": "music_generate", "arguments": {"prompt": "a march", "idempotency_key": "order-1"}}} => 200 result.isError=true result.content.0.text*=idempotency_conflict
        developer mcp {"params": {"name": "music_generate", "arguments": {"prompt": "x", "idempotency_key": ""}}} => 200 result.isError=true result.content.0.text*=invalid_request
        control /jobs => 200 #=1
    "#
    an_idempotency_key_is_shared_with_the_rest_api [honors_undocumented_keys(true)] r#"
        developer mcp {"params": {"name": "music_generate", "arguments": {"prompt": "a waltz", "idempotency_key": "order-1"}}} => 200 result.structuredContent.job_id=<id>
        developer key=order-1 music => 200 job.id=<id>
    "#
    a_fault_on_the_endpoint_prevents_the_call r#"
        control /faults {"surface": "mcp", "kind": "status_503"} => 200
        developer /v1/balance => 200
        developer mcp {"params": {"name": "image_generate", "arguments": {"prompt": "x"}}} => 503 database_busy
        control /jobs => 200 #=0
    "#
    max_spend_usd_is_compared_with_the_estimate r#"
        # A video of 5 seconds at 480p costs 0.25 USD.
        developer mcp {"params": {"name": "video_generate", "arguments": {"prompt": "x", "max_spend_usd": 0.2499}}} => 200 result.isError=true result.content.0.text*=max_spend_exceeded result.content.0.text*="\"details\":{\"estimate_usd\":\"0.2500\",\"max_spend_usd\":\"0.2499\"}"
        developer mcp {"params": {"name": "music_generate", "arguments": {"prompt": "x", "max_spend_usd": 0}}} => 200 result.isError=true result.content.0.text*=max_spend_exceeded
        developer mcp {"params": {"name": "image_generate", "arguments": {"prompt": "x", "max_spend_usd": "1"}}} => 200 result.isError=true result.content.0.text*=invalid_request
        control /jobs => 200 #=0
        developer mcp {"params": {"name": "video_generate", "arguments": {"prompt": "x", "max_spend_usd": 0.25}}} => 200 result.isError=false
    "#
    max_spend_usd_limits_the_cap_of_a_run r#"
        developer mcp {"params": {"name": "agent_completion", "arguments": {"instruction": "x", "generation_spend_cap_usd": 1, "max_spend_usd": 1}}} => 200 result.structuredContent.kind=agent
        # The cap of the format is lowered to the limit, and never raised.
        for <format> <limit> <micros> in fmt_capped 1.5 1500000, demo/capped 3.0 2000000
          developer mcp {"params": {"name": "format_run", "arguments": {"format_id": "<format>", "instruction": "x", "max_spend_usd": <limit>}}} => 200 result.structuredContent.usage.generation_spend_cap_usd_micros=<micros>
        for <arguments> in {"format_id":"fmt_capped","instruction":"x","max_spend_usd":0} {"format_id":"fmt_capped","instruction":"x","max_spend_usd":1,"generation_spend_cap_usd":2}
          developer mcp {"params": {"name": "format_run", "arguments": <arguments>}} => 200 result.isError=true result.content.0.text*=max_spend_exceeded
    "#
    runs_are_read_by_id r#"
        developer mcp {"params": {"name": "format_run", "arguments": {"format_id": "demo/product-shot", "instruction": "a cup"}}} => 200 result.structuredContent.run_id=<id>
        developer mcp {"params": {"name": "run_result", "arguments": {"run_id": "<id>"}}} => 200 result.isError=true result.content.0.text*=run_not_completed result.content.0.text*="\"status\":\"queued\""
        developer mcp {"params": {"name": "run_status", "arguments": {"run_id": "<id>"}}} => 200 result.structuredContent.kind=format
        advance 10
        developer mcp {"params": {"name": "run_result", "arguments": {"run_id": "<id>"}}} => 200 result.structuredContent.status=completed result.content.1.type=resource_link
        for <arguments> <code> in {"run_id":"run_0"} format_run_not_found, {"run_id":"run_0","kind":"agent"} agent_run_not_found
          developer mcp {"params": {"name": "run_status", "arguments": <arguments>}} => 200 result.isError=true result.content.0.text*=<code>
    "#
    tools_need_the_scopes_of_their_operations r#"
        developer:svc_dev_noscope mcp {"params": {"name": "format_run", "arguments": {"format_id": "fmt_demo", "instruction": "x"}}} => 200 result.isError=true result.content.0.text*=insufficient_scope result.content.0.text*="\"required_scope\":\"formats:write\""
        developer:svc_sa_demo mcp {"params": {"name": "format_run", "arguments": {"format_id": "fmt_demo", "instruction": "x"}}} => 200 result.isError=true result.content.0.text*=insufficient_scope result.content.0.text*=service_account_format_runs_unsupported
        developer:svc_dev_noscope mcp {"params": {"name": "image_generate", "arguments": {"prompt": "x"}}} => 200 result.structuredContent.job_id=<string>
    "#
}

on_every_frontend! { bodies_are_json }

async fn bodies_are_json(mock: Mock) {
    let client = mock.developer();
    for body in ["", "{", r#"{"id": 1, "id": 2}"#] {
        let broken = client.post_bytes("/mcp", body).await.expect(400).json();
        assert_eq!((&broken["id"], &broken["error"]["code"]), (&Value::Null, &json!(-32700)));
    }
    let plain = client.send("POST", "/mcp", Some("text/plain"), "{}".into()).await;
    plain.expect_error(415, "unsupported_media_type");
}
