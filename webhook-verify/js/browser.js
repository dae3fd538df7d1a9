// Browsers and bundlers: the module is fetched.

import { create } from "./core.js";

const response = await fetch(new URL("./svc_webhook_verify.wasm", import.meta.url));
const module = await WebAssembly.compile(await response.arrayBuffer());

export const { verify, verifyOrThrow, Secrets, ReloadedSecrets, SignatureError } = create(module);
