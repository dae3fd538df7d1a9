// Counts of what came in since the other views were last open.

const STORED = "svc-mock-read";

/** Marks the views of a page that have something unread. */
export function markUnread(page) {
  const read = JSON.parse(localStorage.getItem(STORED) ?? "{}");
  for (const link of page.querySelectorAll("#views a[data-total]")) {
    const path = link.getAttribute("href");
    const total = Number(link.dataset.total);
    // A smaller number is from after a reset.
    if (link.hasAttribute("aria-current")) read[path] = total;
    else if (!(read[path] <= total)) read[path] = 0;
    const unread = total - read[path];
    const count = link.querySelector(".count");
    count.hidden = unread === 0;
    count.querySelector(".number").textContent = unread > 99 ? "99+" : unread;
  }
  localStorage.setItem(STORED, JSON.stringify(read));
}
