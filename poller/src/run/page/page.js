"use strict";
// Refreshes the page in place. Only nodes that differ are touched, so focus, typed text and open details stay.

const EVERY = 5000;
// A hidden page refreshes for the tab's title and icon alone.
const HIDDEN_EVERY = 60000;
const TYPING = 250;

const root = document.documentElement;
const form = document.querySelector("form");
let last = Date.now();
let running = null;

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE && node.dataset.key) || null;

function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    // Only the reader opens and closes details.
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  const wanted = new Set([...fresh.children].map(keyOf));
  const known = new Map();
  for (const child of [...old.children]) {
    const key = keyOf(child);
    if (key && wanted.has(key)) known.set(key, child);
    else if (key) child.remove();
  }
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const key = keyOf(child);
    const isSame = place && !keyOf(place) && place.nodeName === child.nodeName;
    const match = key ? known.get(key) : isSame ? place : null;
    if (!match) {
      old.insertBefore(document.importNode(child, true), place);
      continue;
    }
    if (match === place) place = place.nextSibling;
    else old.insertBefore(match, place);
    morph(match, child);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function hasSelection() {
  const selection = getSelection();
  return !selection.isCollapsed && document.querySelector("main").contains(selection.anchorNode);
}

function show(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const focused = document.activeElement;
  document.title = fresh.title;
  const icon = document.querySelector("link[rel=icon]");
  const href = fresh.querySelector("link[rel=icon]").getAttribute("href");
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
  morph(document.body, fresh.body);
  // An element that moved lost its focus.
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

async function refresh() {
  running?.abort();
  const mine = (running = new AbortController());
  last = Date.now();
  try {
    const signal = AbortSignal.any([mine.signal, AbortSignal.timeout(EVERY)]);
    const answer = await fetch(location.href, { cache: "no-store", signal });
    if (!answer.ok) throw new Error(String(answer.status));
    const text = await answer.text();
    if (hasSelection()) return;
    show(text);
    root.classList.remove("old");
  } catch {
    if (!mine.signal.aborted) root.classList.add("old");
  }
}

function tick() {
  const isPaused = hasSelection();
  root.classList.toggle("paused", isPaused);
  const pause = document.hidden ? HIDDEN_EVERY : EVERY;
  if (!isPaused && Date.now() - last >= pause) refresh();
}

function ask() {
  const query = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...query]) {
    if (!value.trim() || (name === "shown" && value === "all")) query.delete(name);
  }
  history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  getSelection().removeAllRanges();
  refresh();
}

async function copy(button) {
  const command = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(command.textContent);
    button.textContent = "Copied";
  } catch {
    // Without HTTPS or localhost a page has no clipboard. The reader copies the selected text.
    getSelection().selectAllChildren(command);
  }
}

root.classList.add("script");
let typed = 0;
form.addEventListener("input", (event) => {
  clearTimeout(typed);
  typed = setTimeout(ask, event.target.type === "search" ? TYPING : 0);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typed);
  ask();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest(".copy");
  if (button) copy(button);
});
document.addEventListener("visibilitychange", tick);
setInterval(tick, 1000);
