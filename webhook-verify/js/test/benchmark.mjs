// How long it takes to verify a delivery, beside node:crypto: processor time, in turns.

import { createHmac } from "node:crypto";

import { Secrets, verify } from "svc-webhook-verify";

const [SECRET, TIMESTAMP] = ["whsec_newest", "1700000000"];

function nanoseconds(work, count) {
  const began = process.cpuUsage();
  for (let number = 0; number < count; number += 1) work();
  const { user, system } = process.cpuUsage(began);
  return ((user + system) / count) * 1000;
}

const median = (numbers) => numbers.toSorted?.((one, other) => one - other)[numbers.length >> 1] ?? 0;

for (const [size, count, rounds] of [[512, 5_000, 31], [64 * 1024, 200, 9]]) {
  const body = Buffer.alloc(size, "x");
  const digest = () => createHmac("sha256", SECRET).update(TIMESTAMP).update(".").update(body).digest();
  const headers = {
    host: "receiver.example",
    "content-type": "application/json",
    "x-svc-webhook-timestamp": TIMESTAMP,
    "x-svc-webhook-signature": `svc-v1=${digest().toString("hex")}`,
  };
  const [prepared, options] = [new Secrets(SECRET), { now: Number(TIMESTAMP) }];
  const contenders = [digest, () => verify(headers, body, prepared, options), () => verify(headers, body, SECRET, options)];
  contenders.forEach((work) => nanoseconds(work, count));
  const rows = Array.from({ length: rounds }, () => contenders.map((work) => nanoseconds(work, count)));
  const shown = ["verify with Secrets", "verify with a string"].map((name, index) => {
    const own = median(rows.map((row) => row[index + 1]));
    const ratio = median(rows.map((row) => row[index + 1] / row[0]));
    return `${name} ${own.toFixed(0)} ns (${ratio.toFixed(2)}x)`;
  });
  console.log(`   ${size} B: node:crypto ${median(rows.map((row) => row[0])).toFixed(0)} ns, ${shown.join(", ")}`);
}
