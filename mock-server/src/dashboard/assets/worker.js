// The event stream that all tabs share: browsers allow six connections to a host, so that the seventh
// tab would not load.
import { openStream } from "./stream.js";

const ports = new Set();
let close = null;
let state = null;

function tell(message) {
  if (message !== "change") state = message;
  for (const port of ports) port.postMessage(message);
}

function join(port) {
  ports.add(port);
  if (state) port.postMessage(state);
  close ??= openStream(tell);
}

function leave(port) {
  ports.delete(port);
  if (ports.size > 0) return;
  close?.();
  [close, state] = [null, null];
}

self.addEventListener("connect", ({ ports: [port] }) => {
  port.addEventListener("message", ({ data }) => (data === "join" ? join(port) : leave(port)));
  port.start();
});
