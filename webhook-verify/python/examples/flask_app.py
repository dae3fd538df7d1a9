"""A receiver with Flask: ``python flask_app.py``."""

import os

from flask import Flask, Response, request

from svc_webhook_verify import SecretFile, SignatureError, verify_or_raise

app = Flask(__name__)
secrets = SecretFile(os.environ["SVC_WEBHOOK_SECRET_FILE"])


@app.post("/webhooks")
def receive() -> Response:
    body = request.get_data()
    try:
        verify_or_raise(request.headers, body, secrets)
    except SignatureError as error:
        app.logger.warning("rejected a delivery: %s", error)
        return Response(status=error.status)
    # Store the body before it is acknowledged, and handle it once: deliveries are repeated.
    return Response(status=204)


if __name__ == "__main__":
    app.run("127.0.0.1", int(os.environ.get("PORT", "8000")))
