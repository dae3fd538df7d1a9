// Compares the package with the Rust crate on the deliveries of its example `mutated_deliveries`, which standard
// input has.

import { createInterface } from "node:readline";

import { SignatureError, verify, verifyOrThrow } from "svc-webhook-verify";

const SECRETS = { empty: "secret_empty", no: "secret_missing", too: "secret_too_many" };

function result(delivery) {
  const [secrets, timestamps, signatures] = [delivery.secrets, delivery.timestamp, delivery.signature].map((list) =>
    list.map((item) => Buffer.from(item, "hex")),
  );
  const headers = [
    ...timestamps.map((line) => ["X-Svc-Webhook-Timestamp", line.toString("latin1")]),
    ...signatures.map((line) => ["x-svc-webhook-signature", line.toString("latin1")]),
  ];
  const body = Buffer.from(delivery.body, "hex");
  const options = {
    now: BigInt(delivery.now),
    tolerance: delivery.tolerance === "0" ? null : BigInt(delivery.tolerance),
  };
  try {
    const { secretIndex } = verifyOrThrow(headers, body, secrets, options);
    return verify(headers, body, secrets, options) ? secretIndex : "verify differs";
  } catch (error) {
    if (error instanceof SignatureError) return verify(headers, body, secrets, options) ? "verify differs" : error.reason;
    if (error instanceof RangeError) return SECRETS[error.message.split(" ")[0]];
    throw error;
  }
}

let [count, accepted] = [0, 0];
for await (const line of createInterface({ input: process.stdin })) {
  const delivery = JSON.parse(line);
  const actual = result(delivery);
  if (actual !== delivery.expect) {
    console.error(`${actual} instead of ${delivery.expect}: ${line}`);
    process.exit(1);
  }
  count += 1;
  accepted += typeof actual === "number";
}
if (count === 0) throw new Error("no deliveries");
console.log(`   ${count} mutated deliveries, ${accepted} of them accepted: no difference`);
