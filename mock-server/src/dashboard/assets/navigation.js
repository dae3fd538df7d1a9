// Following links and searching without loading the whole page, and fetching the page again.
import { morph } from "./morph.js";
import { showStatus } from "./status.js";
import { markUnread } from "./unread.js";

let latest = 0;

/** Fetches the page of the current URL, and shows what has changed. New rows are counted only. */
export function refresh() {
  return load(location.href, { isUpdate: true, keepsRows: true });
}

/**
 * Shows the page of a URL and adds it to the history. With `keepsRows`, the rows of the list stay
 * where they are.
 */
export async function visit(url, { replace = false, keepsRows = false } = {}) {
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  const before = viewName();
  await load(url, { keepsRows });
  // A new view starts at its top; within a view, the focus and the list stay where they are.
  if (viewName() !== before) {
    scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
  } else if (matchMedia("(max-width: 60rem)").matches) {
    scrollTo(0, 0);
  }
}

/** Shows the rows that were counted only. */
export async function showNew() {
  if (!document.querySelector("[data-show-new]")) return false;
  await load(location.href, { isUpdate: true });
  scrollTo(0, 0);
  document.querySelector(".list a.row")?.focus({ preventScroll: true });
  return true;
}

async function load(url, { isUpdate = false, keepsRows = false } = {}) {
  const number = ++latest;
  try {
    const address = new URL(url);
    const list = document.querySelector("[data-seen]:has(tbody tr)");
    if (keepsRows && list && isOfView(address)) address.searchParams.set("seen", list.dataset.seen);
    const response = await fetch(address, { headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const next = page.getElementById("app");
    // A later load has started.
    if (number !== latest || !next) return;
    document.title = page.title;
    markUnread(page);
    morph(document.getElementById("app"), next, isUpdate);
  } catch {
    if (!isUpdate) showStatus("The mock does not respond.");
  }
}

function viewName() {
  return document.querySelector("#views [aria-current]")?.getAttribute("href") ?? "";
}

/** Returns whether an address is of the view that is shown. */
function isOfView({ pathname }) {
  return (pathname === "/" ? "/dashboard/requests" : pathname).startsWith(viewName());
}

function isPage(link) {
  const url = new URL(link.href);
  const isHere = url.origin === location.origin && !link.target && !link.hasAttribute("download");
  return isHere && (url.pathname === "/" || /^\/dashboard\/(?!media|thumbnails|assets)/.test(url.pathname));
}

export function startNavigation() {
  markUnread(document);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const control = event.target.closest("a, button, input, label, summary, video, audio");
    const row = control ? null : event.target.closest("tr")?.querySelector("a.row");
    // A click on a row follows its link, unless text is being selected in it.
    if (row && getSelection().isCollapsed) return void visit(row.href, { keepsRows: true });
    if (control?.matches("[data-show-new]")) return void showNew();
    const link = control?.closest("a[href]");
    if (!link || !isPage(link) || link.hash) return;
    event.preventDefault();
    visit(link.href, { keepsRows: link.matches(".row, [data-close]") });
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.filters")) return;
    event.preventDefault();
    search(event.target);
  });
  let timer = 0;
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form.filters");
    if (!form) return;
    clearTimeout(timer);
    timer = setTimeout(() => search(form), event.target.type === "search" ? 150 : 0);
  });
  addEventListener("popstate", () => load(location.href, { keepsRows: true }));
}

function search(form) {
  const query = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...query]) if (!value) query.delete(name);
  const url = new URL(form.action);
  url.search = query;
  visit(url, { replace: true });
}
