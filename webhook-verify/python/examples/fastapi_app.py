"""A receiver with FastAPI: ``python fastapi_app.py``."""

import logging
import os

import uvicorn
from fastapi import FastAPI, Request, Response

from svc_webhook_verify import SecretFile, SignatureError, verify_or_raise

app = FastAPI()
secrets = SecretFile(os.environ["SVC_WEBHOOK_SECRET_FILE"])


@app.post("/webhooks")
async def receive(request: Request) -> Response:
    body = await request.body()
    try:
        verify_or_raise(request.headers, body, secrets)
    except SignatureError as error:
        logging.warning("rejected a delivery: %s", error)
        return Response(status_code=error.status)
    # Store the body before it is acknowledged, and handle it once: deliveries are repeated.
    return Response(status_code=204)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")), log_level="warning")
