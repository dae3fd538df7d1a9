// The line that tells the outcome of an action, also to screen readers.

let timer = 0;

export function showStatus(text) {
  const status = document.getElementById("status");
  status.textContent = text;
  status.classList.add("shown");
  clearTimeout(timer);
  timer = setTimeout(() => status.classList.remove("shown"), 4000);
}
