// What a sender controls never throws, and the caller's mistakes always do.

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { ReloadedSecrets, SecretFile, Secrets, SignatureError, verify, verifyOrThrow } from "svc-webhook-verify";

const NOW = 1_700_000_000;
const BODY = Buffer.from('{"event":"job.completed","job_id":"job_123"}');

function signed(secrets, body = BODY, at = NOW) {
  const tag = (secret) => createHmac("sha256", secret).update(`${at}.`).update(body).digest("hex");
  return {
    "x-svc-webhook-timestamp": String(at),
    "x-svc-webhook-signature": secrets.map((secret) => `svc-v1=${tag(secret)}`).join(","),
    "x-svc-webhook-secret-fingerprint": createHash("sha256").update(secrets[0]).digest("hex").slice(0, 16),
  };
}

test("headers of any framework are read", () => {
  const headers = signed(["s"]);
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  for (const form of [headers, upper, new Headers(headers), new Map(Object.entries(headers)), Object.entries(headers)]) {
    assert.equal(verify(form, BODY, "s", { now: NOW }), true);
  }
});

test("odd values are not genuine", () => {
  for (const value of ["", "é", "\ud83e", "🦊", "\0", "x".repeat(200_000), `svc-v1=${"0".repeat(64)}`, null, undefined, []]) {
    for (const name of ["x-svc-webhook-timestamp", "x-svc-webhook-signature"]) {
      assert.equal(verify({ ...signed(["s"]), [name]: value }, BODY, "s", { now: NOW }), false);
    }
  }
  assert.equal(verify({}, "", "s"), false);
});

test("the default time is that of the system, and the tolerance limits the age", () => {
  const seconds = Math.floor(Date.now() / 1000);
  assert.equal(verify(signed(["s"], BODY, seconds), BODY, "s"), true);
  assert.equal(verify(signed(["s"], BODY, seconds - 302), BODY, "s"), false);
  for (const [now, tolerance, accepted] of [
    [NOW + 300, 300, true],
    [NOW + 301, 300, false],
    [NOW + 300.9, 300, true],
    [NOW + 1, 0, false],
    [NOW, 0, true],
    [0, null, true],
    [2 ** 40, 300, false],
  ]) {
    assert.equal(verify(signed(["s"]), BODY, "s", { now, tolerance }), accepted, `${now} ${tolerance}`);
  }
});

test("bodies of all sizes and kinds", () => {
  for (const size of [0, 1, 511, 65_300, 65_536, 65_537, 200_000, 1_500_000]) {
    const body = Buffer.alloc(size, "x");
    assert.equal(verify(signed(["s"], body), body, "s", { now: NOW }), true, String(size));
    assert.equal(verify(signed(["t"], body), body, "s", { now: NOW }), false, String(size));
  }
  const copy = new Uint8Array(BODY);
  for (const body of [copy, copy.buffer, new DataView(copy.buffer), BODY.toString()]) {
    assert.equal(verify(signed(["s"]), body, "s", { now: NOW }), true);
  }
});

test("mistakes of the caller throw", () => {
  const headers = signed(["s"]);
  for (const [...call] of [
    [null, BODY, "s"],
    ["x", BODY, "s"],
    [{ "x-svc-webhook-timestamp": 7 }, BODY, "s"],
    [headers, { event: "x" }, "s"],
    [headers, undefined, "s"],
    [headers, BODY, undefined],
    [headers, BODY, 7],
    [headers, BODY, BODY],
    [headers, BODY, [7]],
    [headers, BODY, "s", { now: "7" }],
    [headers, BODY, "s", { tolerance: "7" }],
  ]) {
    assert.throws(() => verify(...call), TypeError);
  }
  for (const secrets of ["", " \n", [], [""], ["s", "\0"], Array(9).fill("s"), "s\n".repeat(9)]) {
    assert.throws(() => verify(headers, BODY, secrets), RangeError);
    assert.throws(() => new Secrets(secrets), RangeError);
  }
  for (const options of [{ now: -1 }, { now: NaN }, { now: 2 ** 64 }, { tolerance: -1 }, { tolerance: Infinity }, { now: -1n }]) {
    assert.throws(() => verify(headers, BODY, "s", options), RangeError);
  }
  // A failed call leaves nothing behind.
  assert.equal(verify(headers, BODY, "s", { now: NOW }), true);
});

test("a signature error says why", () => {
  const error = (() => {
    try {
      return verifyOrThrow(signed(["s"]), "{}", "s", { now: NOW });
    } catch (error) {
      return error;
    }
  })();
  assert.ok(error instanceof SignatureError && error instanceof Error);
  assert.deepEqual([error.name, error.reason, error.status], ["SignatureError", "signature_mismatch", 401]);
  assert.throws(() => verifyOrThrow({}, "{}", "s"), { reason: "timestamp_missing", status: 400 });
});

test("lines are trimmed, items are not, and each set of secrets is its own", () => {
  assert.deepEqual(verifyOrThrow(signed(["old"]), BODY, "new \r\n\n old\n", { now: NOW }), { timestamp: NOW, secretIndex: 1 });
  assert.equal(verify(signed(["old"]), BODY, ["new ", " old"], { now: NOW }), false);
  const [one, other] = [new Secrets("one"), new Secrets(["other", Buffer.from("one")])];
  assert.equal(verify(signed(["other"]), BODY, one, { now: NOW }), false);
  assert.equal(verify(signed(["other"]), BODY, other, { now: NOW }), true);
  assert.equal(verify(signed(["one"]), BODY, one, { now: NOW }), true);
  assert.deepEqual(new Secrets("whsec_newest").fingerprints, ["7ab95101ed6218b1"]);
  assert.ok(!JSON.stringify(one).includes("one"));
});

test("a file is read again when a delivery names a newer secret", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "secrets-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "secrets");
  writeFileSync(path, "first\n");
  const secrets = new SecretFile(path);
  const accepts = (names, at = NOW) => verify(signed(names, BODY, at), BODY, secrets, { now: NOW });
  assert.equal(accepts(["first"]), true);
  assert.equal(accepts(["second", "first"]), true);
  assert.equal(accepts(["second"]), false);
  writeFileSync(path, "second\nfirst\n");
  // A delivery that is not recent, or not one of the service, does not cause a reload.
  assert.equal(accepts(["second"], NOW - 301), false);
  assert.equal(verify({ ...signed(["second"]), "x-svc-webhook-signature": "svc-v1=zz" }, BODY, secrets, { now: NOW }), false);
  assert.equal(secrets.fingerprints.length, 1);
  assert.equal(accepts(["second"]), true);
  writeFileSync(path, "third\n");
  assert.equal(accepts(["third"]), true);
  assert.equal(accepts(["first"]), false);
  for (const content of ["", "\n"]) {
    writeFileSync(path, content);
    assert.equal(accepts(["fourth", "third"]), true);
    assert.throws(() => secrets.reload(), RangeError);
  }
  unlinkSync(path);
  assert.equal(accepts(["fourth", "third"]), true);
  assert.throws(() => new SecretFile(path), { code: "ENOENT" });
});

test("secrets are loaded by any function", () => {
  let loads = 0;
  const secrets = new ReloadedSecrets(() => {
    loads += 1;
    return loads === 1 ? ["first"] : ["second", "first"];
  });
  assert.equal(verify(signed(["first"]), BODY, secrets, { now: NOW }), true);
  assert.equal(loads, 1);
  assert.equal(verify(signed(["second"]), BODY, secrets, { now: NOW }), true);
  assert.equal(loads, 2);
  assert.equal(secrets.reload(), false);
});
