"""A receiver with Django, in one file: ``python django_app.py``."""

import logging
import os
from wsgiref.simple_server import make_server

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from svc_webhook_verify import SecretFile, SignatureError, verify_or_raise

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1", "hooks.example.com"])
secrets = SecretFile(os.environ["SVC_WEBHOOK_SECRET_FILE"])


@csrf_exempt
@require_POST
def receive(request: HttpRequest) -> HttpResponse:
    try:
        verify_or_raise(request.headers, request.body, secrets)
    except SignatureError as error:
        logging.warning("rejected a delivery: %s", error)
        return HttpResponse(status=error.status)
    # Store the body before it is acknowledged, and handle it once: deliveries are repeated.
    return HttpResponse(status=204)


urlpatterns = [path("webhooks", receive)]

if __name__ == "__main__":
    make_server("127.0.0.1", int(os.environ.get("PORT", "8000")), get_wsgi_application()).serve_forever()
