"""A small client of the open surface, with the standard library only.

It shows what a client in any language has to do: one idempotency key for all attempts of a submit,
polls when the service says, and errors by their code.
"""

import http.client
import json
import os
import time
import urllib.error
import urllib.request
import uuid


class ServiceError(Exception):
    """The service refused a request, or a job failed."""

    def __init__(self, code, message, status=None, retry_after=1.0):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.status = status
        self.retry_after = retry_after


class Client:
    def __init__(self, base_url=None, api_key=None, attempts=4):
        self.base_url = base_url or os.environ["SVC_BASE_URL"]
        self.api_key = api_key or os.environ["SVC_OPEN_API_KEY"]
        self.attempts = attempts

    def generate_image(self, prompt, model="image-i"):
        """Submits an image. All attempts carry one key, so that it is paid for once."""
        key = str(uuid.uuid4())
        body = {"model": model, "prompt": prompt}
        return self._request("POST", "/v1/image-router/generate", body, key)["job"]

    def wait(self, job_id, timeout=120):
        """Polls until the job has ended, and returns its result."""
        deadline = time.monotonic() + timeout
        while True:
            status = self._request("GET", f"/v1/jobs/{job_id}/status")
            if status["terminal"]:
                break
            pause = max(status["next_poll_after_seconds"], 0.05)
            if time.monotonic() + pause > deadline:
                raise TimeoutError(f"job {job_id} has not ended; it can still be waited for")
            time.sleep(pause)
        if status["status"] != "completed":
            error = self._request("GET", f"/v1/jobs/{job_id}").get("error") or {}
            raise ServiceError(error.get("code", status["status"]), f"job {job_id} did not complete")
        return self._request("GET", f"/v1/jobs/{job_id}/result")

    def _request(self, method, path, body=None, key=None):
        for attempt in range(1, self.attempts + 1):
            try:
                return self._send(method, path, body, key)
            except ServiceError as error:
                if error.status not in (429, 502, 503) or attempt == self.attempts:
                    raise
                pause = error.retry_after
            # No response, or only a part: with the same key, the request can be repeated.
            except (OSError, http.client.HTTPException):
                if attempt == self.attempts:
                    raise
                pause = 0.1 * 2**attempt
            time.sleep(pause)

    def _send(self, method, path, body, key):
        headers = {"x-api-key": self.api_key, "content-type": "application/json"}
        if key:
            headers["idempotency-key"] = key
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base_url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as response:
            try:
                error = json.load(response)["error"]
            except (ValueError, KeyError):  # For example the HTML page of a proxy.
                error = {"code": "unknown", "message": f"status {response.code} without a JSON body"}
            retry_after = float(response.headers.get("retry-after", 1))
            raise ServiceError(error["code"], error["message"], response.code, retry_after) from None
