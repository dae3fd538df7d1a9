// Buttons that copy a text: their own (`data-copy`), or that of an element (`data-copy-from` has its id).
import { showStatus } from "./status.js";

export function startCopying() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button:is([data-copy], [data-copy-from])");
    if (button) copy(button);
  });
}

export async function copy(button) {
  const { copy: own, copyFrom } = button.dataset;
  const text = own ?? document.getElementById(copyFrom).textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers give pages the clipboard on secure origins and loopback addresses only.
    if (!copyBySelection(text)) return showStatus("The browser does not allow copying.");
  }
  showStatus("Copied.");
}

function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}
