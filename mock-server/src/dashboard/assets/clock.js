// The service time in the header, which passes between two updates of the page.

export function startClock() {
  let base = "";
  let start = 0;
  setInterval(() => {
    const clock = document.querySelector("[data-clock=real]");
    if (!clock) return;
    const { now, speed } = clock.dataset;
    if (now !== base) [base, start] = [now, performance.now()];
    // JavaScript reads times up to milliseconds.
    const passed = (performance.now() - start) * Number(speed);
    const time = new Date(Date.parse(now.replace(/(\.\d{3})\d*/, "$1")) + passed);
    if (Number.isNaN(time.getTime())) return;
    const text = time.toISOString().slice(0, 19).replace("T", " ");
    const element = clock.querySelector("[data-clock-text]");
    if (element.textContent !== text) element.textContent = text;
  }, 250);
}
