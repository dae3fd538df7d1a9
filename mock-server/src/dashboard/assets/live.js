// Updates: the event stream says when to fetch the page again.
import { refresh } from "./navigation.js";
import { openStream } from "./stream.js";

let port = null;
let leave = null;
let isPaused = false;
let isFetching = false;
let isStale = false;

async function update() {
  isStale = true;
  // One fetch at a time: later changes are fetched after it.
  if (isFetching) return;
  isFetching = true;
  while (isStale && !isPaused && !document.hidden) {
    isStale = false;
    await refresh();
  }
  isFetching = false;
}

function show(state, text) {
  const live = document.getElementById("live");
  live.dataset.state = state;
  const label = live.querySelector(".live-text");
  if (label.textContent !== text) label.textContent = text;
}

function listen(message) {
  if (!leave) return;
  if (message === "lost") return show("lost", "Mock not reachable");
  if (message === "live") show("live", "Live");
  // Something may have happened before the stream was open.
  update();
}

/** Listens to the stream, which tabs share where the browser can. Returns how to stop it. */
function join() {
  if (!globalThis.SharedWorker) return openStream(listen);
  if (!port) {
    ({ port } = new SharedWorker("/dashboard/assets/worker.js", { type: "module" }));
    port.addEventListener("message", ({ data }) => listen(data));
    port.start();
  }
  port.postMessage("join");
  return () => port.postMessage("leave");
}

function reconnect() {
  leave?.();
  leave = null;
  if (isPaused) show("paused", "Paused");
  else if (!document.hidden) leave = join();
}

export function togglePause() {
  isPaused = !isPaused;
  const button = document.getElementById("pause");
  button.setAttribute("aria-pressed", String(isPaused));
  reconnect();
}

export function startLive() {
  document.getElementById("pause").addEventListener("click", togglePause);
  // A page that is not visible needs no updates.
  document.addEventListener("visibilitychange", reconnect);
  addEventListener("pagehide", () => {
    leave?.();
    leave = null;
  });
  addEventListener("pageshow", (event) => event.persisted && reconnect());
  reconnect();
}
