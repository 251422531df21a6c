"use strict";
// Shows what is new every few seconds. What is typed stays, and a page that nobody sees asks for nothing.
const EVERY = 5000;

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(EVERY) });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
    document.querySelector("main").replaceWith(fresh);
    document.body.classList.remove("old");
  } catch {
    document.body.classList.add("old");
  }
}

setInterval(refresh, EVERY);
