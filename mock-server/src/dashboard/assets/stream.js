// The event stream of the control API, which says when to fetch the page again.

/** Opens the stream. `tell` gets `live`, `change` and `lost`. Returns the function that closes it. */
export function openStream(tell) {
  let source = null;
  let timer = 0;
  const connect = () => {
    source = new EventSource("/events?only=change");
    source.addEventListener("open", () => tell("live"));
    source.addEventListener("change", () => tell("change"));
    source.addEventListener("error", () => {
      tell("lost");
      // A browser does not try again after a response that is no event stream.
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(connect, 2000);
    });
  };
  connect();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
