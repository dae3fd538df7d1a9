// Cloudflare Workers and others that import a module of WebAssembly as it is.

import module from "./svc_webhook_verify.wasm";

import { create } from "./core.js";

export const { verify, verifyOrThrow, Secrets, ReloadedSecrets, SignatureError } = create(module);
