// Node, Deno and Bun: the module is read from its file.

import { readFileSync } from "node:fs";

import { create } from "./core.js";

const bytes = readFileSync(new URL("./svc_webhook_verify.wasm", import.meta.url));
const { ReloadedSecrets, ...core } = create(new WebAssembly.Module(bytes));

export const { verify, verifyOrThrow, Secrets, SignatureError } = core;
export { ReloadedSecrets };

/** Secrets in a file with one a line, which is read again when a recent delivery names one that is not in it. */
export class SecretFile extends ReloadedSecrets {
  constructor(path) {
    super(() => readFileSync(path, "utf8"));
  }
}
