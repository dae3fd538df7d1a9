// The types, as a caller meets them: checked by tsc, not run.

import { ReloadedSecrets, SecretFile, Secrets, SignatureError, verify, verifyOrThrow } from "svc-webhook-verify";
import type { Reason, Verified } from "svc-webhook-verify";
import type { IncomingHttpHeaders } from "node:http";

declare const incoming: IncomingHttpHeaders;
declare const request: Request;

const genuine: boolean = verify(incoming, Buffer.alloc(0), "whsec_newest\nwhsec_previous");
verify(request.headers, await request.arrayBuffer(), new Secrets(["whsec_newest"]), { tolerance: null, now: 7n });
verify([["a", "b"]], "{}", new SecretFile("/run/secrets/webhook"));
verify(new Map<string, string>(), new Uint8Array(), new ReloadedSecrets(() => "whsec_newest"));
const verified: Verified = verifyOrThrow({ "x-svc-webhook-timestamp": "7" }, "{}", "s");
try {
  console.log(genuine, verified.timestamp, verified.secretIndex);
} catch (error) {
  if (error instanceof SignatureError) {
    const reason: Reason = error.reason;
    console.log(reason, error.status);
  }
}
// @ts-expect-error A parsed body is not the raw one.
verify(incoming, { event: "job.completed" }, "s");
// @ts-expect-error Secrets are needed.
verify(incoming, "{}");
