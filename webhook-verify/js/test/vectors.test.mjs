// The vectors that every verifier passes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Secrets, SignatureError, verify, verifyOrThrow } from "svc-webhook-verify";

const { cases } = JSON.parse(readFileSync(process.env.VECTORS, "utf8"));
const SECRET_ERRORS = {
  secret_empty: /^empty signing secret/,
  secret_missing: /^no signing secret/,
  secret_too_many: /^too many signing secrets/,
};

const bytesOf = (value) => Buffer.from(value.hex ?? value, value.hex === undefined ? "utf8" : "hex");
const textOf = (value) => bytesOf(value).toString("latin1");

test("every vector has the expected result", () => {
  assert.ok(cases.length >= 200);
  for (const { name, secrets, timestamp, signature, body, now, tolerance, expect } of cases) {
    const list = secrets.map(bytesOf);
    const pairs = [
      ...timestamp.map((line) => ["X-Svc-Webhook-Timestamp", textOf(line)]),
      ...signature.map((line) => ["x-svc-webhook-signature", textOf(line)]),
    ];
    const object = {
      "X-Svc-Webhook-Timestamp": timestamp.map(textOf),
      "x-svc-webhook-signature": signature.map(textOf),
    };
    const options = { now: BigInt(now), tolerance: tolerance === "0" ? null : BigInt(tolerance) };
    if (expect.reason in SECRET_ERRORS) {
      const error = { name: "RangeError", message: SECRET_ERRORS[expect.reason] };
      assert.throws(() => verify(pairs, bytesOf(body), list, options), error, name);
      continue;
    }
    for (const headers of [pairs, object]) {
      for (const given of [list, new Secrets(list)]) {
        const result = () => verifyOrThrow(headers, bytesOf(body), given, options);
        assert.equal(verify(headers, bytesOf(body), given, options), expect.accept, name);
        if (expect.accept) {
          assert.equal(result().secretIndex, expect.secret, name);
        } else {
          assert.throws(result, (error) => error instanceof SignatureError && error.reason === expect.reason, name);
        }
      }
    }
  }
});
