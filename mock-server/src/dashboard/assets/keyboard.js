// Keyboard shortcuts. They are listed in the dialog that `?` opens, where they can be switched off.
import { copy } from "./copy.js";
import { togglePause } from "./live.js";
import { showNew, visit } from "./navigation.js";

const STORED = "svc-mock-keys";

export function startKeyboard() {
  const help = document.getElementById("help");
  const enabled = document.getElementById("keys-enabled");
  enabled.checked = localStorage.getItem(STORED) !== "off";
  enabled.addEventListener("change", () => localStorage.setItem(STORED, enabled.checked ? "on" : "off"));
  document.getElementById("help-button").addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || help.open) return;
    if (event.key === "Escape") return close(event.target);
    if (!enabled.checked || event.target.closest("input, select, textarea")) return;
    if (press(event.key, help)) event.preventDefault();
  });
}

/** Does what a key stands for, and returns whether there is anything. */
function press(key, help) {
  const view = document.querySelector(`#views [data-key="${CSS.escape(key)}"]`);
  if (view) {
    visit(view.href);
    return true;
  }
  switch (key) {
    case "j":
      return select(1);
    case "k":
      return select(-1);
    case "/":
      document.getElementById("q")?.focus();
      return true;
    case "n":
      showNew();
      return true;
    case "c": {
      const button = document.querySelector(".details button[data-copy-from]");
      if (button) copy(button);
      return Boolean(button);
    }
    case "r": {
      const button = document.querySelector(".details button[data-visit]");
      button?.click();
      return Boolean(button);
    }
    case "p":
      togglePause();
      return true;
    case "?":
      help.showModal();
      return true;
    default:
      return false;
  }
}

function select(step) {
  const rows = [...document.querySelectorAll(".list a.row")];
  // The URL is ahead of the page while that is being fetched.
  const selected = rows.findIndex((row) => new URL(row.href).pathname === location.pathname);
  const row = rows[selected < 0 ? (step > 0 ? 0 : rows.length - 1) : selected + step];
  if (!row) return false;
  visit(row.href, { replace: selected >= 0, keepsRows: true });
  row.focus({ preventScroll: true });
  row.closest("tr").scrollIntoView({ block: "nearest" });
  return true;
}

function close(target) {
  if (target.matches("input[type=search]")) return target.blur();
  const link = document.querySelector("a[data-close]");
  if (link) visit(link.href, { keepsRows: true });
}
