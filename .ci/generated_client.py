"""Submits a job, waits for it and reads its result through a client that a public generator made
from the document. Arguments: the open surface's URL and a key of it."""

import sys
import time

from generated import AuthenticatedClient
from generated.api.open_ import image_generate, jobs_result, jobs_status
from generated.models import ImageGenerate


def main(base_url: str, key: str) -> None:
    client = AuthenticatedClient(base_url=base_url, token=key, raise_on_unexpected_status=True)
    body = ImageGenerate(model="image-i", prompt="a red fox", num_images=2)
    receipt = image_generate.sync(client=client, body=body, idempotency_key="generated-1").data
    for _ in range(100):
        status = jobs_status.sync(receipt.job.id, client=client).data
        if status.terminal:
            break
        time.sleep(min(float(status.next_poll_after_seconds), 1))
    result = jobs_result.sync(receipt.job.id, client=client).data
    assert result.status == "completed", result
    assert len(result.artifacts) == 2, result
    print(f"{receipt.job.id} completed: {result.artifacts[0].url}")


main(*sys.argv[1:])
