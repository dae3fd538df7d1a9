// Updates: the event stream of the control API says when to fetch the page again.
import { refresh } from "./navigation.js";

let source = null;
let isPaused = false;
let isFetching = false;
let isStale = false;

async function update() {
  if (isPaused || document.hidden) {
    isStale = true;
    return;
  }
  // One fetch at a time: later changes are fetched after it.
  if (isFetching) {
    isStale = true;
    return;
  }
  isFetching = true;
  do {
    isStale = false;
    await refresh();
  } while (isStale && !isPaused && !document.hidden);
  isFetching = false;
}

function show(state, text) {
  const live = document.getElementById("live");
  live.dataset.state = state;
  const label = live.querySelector(".live-text");
  if (label.textContent !== text) label.textContent = text;
}

function connect() {
  source = new EventSource("/events?only=change");
  source.addEventListener("open", () => {
    show("live", "Live");
    // Something may have happened before the stream was open.
    update();
  });
  source.addEventListener("change", update);
  source.addEventListener("error", () => {
    show("lost", "Mock not reachable");
    // A browser does not try again after a response that is no event stream.
    if (source.readyState === EventSource.CLOSED) setTimeout(reconnect, 2000);
  });
}

function reconnect() {
  source?.close();
  source = null;
  if (isPaused) show("paused", "Paused");
  else if (!document.hidden) connect();
}

export function togglePause() {
  isPaused = !isPaused;
  const button = document.getElementById("pause");
  button.setAttribute("aria-pressed", String(isPaused));
  reconnect();
}

export function startLive() {
  document.getElementById("pause").addEventListener("click", togglePause);
  // A page that is not visible closes its connection: browsers allow six for each host.
  document.addEventListener("visibilitychange", reconnect);
  addEventListener("pageshow", (event) => event.persisted && reconnect());
  reconnect();
}
