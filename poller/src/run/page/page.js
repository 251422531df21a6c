"use strict";
// Refreshes the page in place. Only nodes that differ are touched, so focus, typed text and open details stay.

const EVERY = 5000;
// A hidden page refreshes for the tab's title and icon alone.
const HIDDEN_EVERY = 60000;
// An answer takes less than a second. A request ends before the next one is due, so that a tick never aborts one.
const PATIENCE = 3500;
// The age at which a page is old whatever became of its requests. With a tick every second, that is within two intervals.
const OLD_AFTER = 8500;
const TYPING = 250;
// Drawn here, because a server that does not answer gives no icon either.
const OLD_ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 64 64'%3E" +
  "%3Ccircle cx='32' cy='32' r='30' fill='%236b7480'/%3E" +
  "%3Cpath d='M32 16v17l11 8' fill='none' stroke='%23fff' stroke-width='7' stroke-linecap='round'/%3E%3C/svg%3E";

const root = document.documentElement;
const form = document.querySelector("form");
// The clock of the page does not jump.
let begun = performance.now();
let succeeded = begun;
let visibleSince = 0;
let running = null;
let isOld = false;
let fresh = { title: document.title, icon: document.querySelector("link[rel=icon]").getAttribute("href") };

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

// Says in the page, the title and the icon of the tab if the shown state is old.
function mark() {
  root.classList.toggle("old", isOld);
  const title = isOld ? `OLD · ${fresh.title}` : fresh.title;
  if (document.title !== title) document.title = title;
  const icon = document.querySelector("link[rel=icon]");
  const href = isOld ? OLD_ICON : fresh.icon;
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
}

function show(text) {
  const answer = new DOMParser().parseFromString(text, "text/html");
  const focused = document.activeElement;
  fresh = { title: answer.title, icon: answer.querySelector("link[rel=icon]").getAttribute("href") };
  morph(document.body, answer.body);
  // An element that moved lost its focus.
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

async function refresh() {
  running?.abort();
  const mine = (running = new AbortController());
  begun = performance.now();
  try {
    const signal = AbortSignal.any([mine.signal, AbortSignal.timeout(PATIENCE)]);
    const answer = await fetch(location.href, { cache: "no-store", signal });
    if (!answer.ok) throw new Error(String(answer.status));
    const text = await answer.text();
    if (hasSelection()) return;
    show(text);
    succeeded = begun;
    isOld = false;
  } catch {
    if (!mine.signal.aborted) isOld = true;
  } finally {
    if (running === mine) running = null;
    mark();
  }
}

function tick() {
  const now = performance.now();
  const isPaused = hasSelection();
  root.classList.toggle("paused", isPaused);
  const pause = document.hidden ? HIDDEN_EVERY : EVERY;
  if (!isPaused && !running && now - begun >= pause) refresh();
  // A page that was hidden has an older state, and as long as any other to get a new one.
  const limit = OLD_AFTER + (document.hidden ? HIDDEN_EVERY : 0);
  if (now - Math.max(succeeded, visibleSince) >= limit) {
    isOld = true;
    mark();
  }
}

// The address that the form asks for.
function asked() {
  const query = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...query]) {
    if (!value.trim() || (name === "shown" && value === "all")) query.delete(name);
  }
  return location.pathname + (query.size ? `?${query}` : "");
}

// Each choice is one step back, and so is a search however many letters are typed.
let isTyping = false;
function ask(isSearch) {
  const address = asked();
  if (isSearch && isTyping) history.replaceState(null, "", address);
  else if (address !== location.pathname + location.search) history.pushState(null, "", address);
  isTyping = isSearch;
  getSelection().removeAllRanges();
  refresh();
}

// Shows the address in the form, after a step back.
function restore() {
  const query = new URLSearchParams(location.search);
  for (const field of form.elements) {
    if (!field.name) continue;
    field.value = query.get(field.name) ?? (field.name === "shown" ? "all" : "");
  }
  isTyping = false;
  refresh();
}

async function copy(button) {
  const command = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(command.textContent);
    button.firstElementChild.textContent = "Copied";
  } catch {
    // Without HTTPS or localhost a page has no clipboard. The reader copies the selected text.
    getSelection().selectAllChildren(command);
  }
}

root.classList.add("script");
let typed = 0;
form.addEventListener("input", (event) => {
  clearTimeout(typed);
  const isSearch = event.target.type === "search";
  typed = setTimeout(() => ask(isSearch), isSearch ? TYPING : 0);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typed);
  ask(false);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest(".copy");
  if (button) copy(button);
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) visibleSince = performance.now();
  tick();
});
addEventListener("popstate", restore);
setInterval(tick, 1000);
