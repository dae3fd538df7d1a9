// Changes a part of the page into another version of it, and leaves alone what is the same, so that
// focus, selections, scroll positions and playing media survive an update.

const MEDIA = new Set(["AUDIO", "VIDEO"]);
const CONTROLS = new Set(["INPUT", "SELECT", "TEXTAREA"]);

/**
 * Changes `current` into `next`. An update of the same page (`isUpdate`) does not touch what the
 * user may have changed: form controls, and elements with `data-keep`. Those with
 * `data-keep="always"` survive on other pages, too.
 */
export function morph(current, next, isUpdate) {
  if (current.dataset.keep === "always") return;
  if (isUpdate && (current.hasAttribute("data-keep") || CONTROLS.has(current.nodeName))) return;
  if (MEDIA.has(current.nodeName) && current.getAttribute("src") === next.getAttribute("src")) return;
  morphAttributes(current, next);
  morphChildren(current, next, isUpdate);
}

function morphAttributes(current, next) {
  // Whether details are open is the user's choice.
  const isOwned = (name) => name === "open" && current.nodeName === "DETAILS";
  for (const { name } of [...current.attributes]) {
    if (!next.hasAttribute(name) && !isOwned(name)) current.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (current.getAttribute(name) !== value && !isOwned(name)) current.setAttribute(name, value);
  }
}

function morphChildren(current, next, isUpdate) {
  const keyed = new Map();
  for (const child of current.children) {
    if (keyOf(child)) keyed.set(keyOf(child), child);
  }
  let place = current.firstChild;
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted);
    let match = key ? keyed.get(key) : place;
    if (match && !key && (keyOf(match) || match.nodeType !== wanted.nodeType)) match = null;
    if (!match || match.nodeName !== wanted.nodeName) {
      current.insertBefore(document.importNode(wanted, true), place);
      continue;
    }
    if (match === place) place = place.nextSibling;
    else current.insertBefore(match, place);
    if (match.nodeType === Node.ELEMENT_NODE) morph(match, wanted, isUpdate);
    else if (match.nodeValue !== wanted.nodeValue) match.nodeValue = wanted.nodeValue;
  }
  while (place) {
    const following = place.nextSibling;
    place.remove();
    place = following;
  }
}

/** Returns what identifies an element among its siblings, if anything does. */
function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key || null : null;
}
