"""A client as small as a test can have it: a submit that is repeated with the same key."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping
from typing import Any


def call(env: Mapping[str, str], method: str, path: str, body: Any = None, key: str = "") -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"x-api-key": env["SVC_OPEN_API_KEY"], "content-type": "application/json", "idempotency-key": key}
    request = urllib.request.Request(
        env["SVC_BASE_URL"] + path, data, {k: v for k, v in headers.items() if v}, method=method
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)["data"]


def submit(env: Mapping[str, str], prompt: str, attempts: int = 5, **fields: Any) -> str:
    body = {"model": "image-i", "prompt": prompt, **fields}
    key = str(uuid.uuid4())
    for attempt in range(1, attempts + 1):
        try:
            return str(call(env, "POST", "/v1/image-router/generate", body, key)["job"]["id"])
        except urllib.error.HTTPError as error:
            if error.code < 500 or attempt == attempts:
                raise
        except (OSError, http.client.HTTPException, ValueError):
            if attempt == attempts:
                raise
    raise AssertionError("unreachable")
