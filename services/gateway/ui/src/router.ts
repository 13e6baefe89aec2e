// The address is the state: pages read it from here and change it here, so that Back and shared links work.
import { signal } from "@preact/signals";

export const base = "/ui";
export const address = signal(read());

function read() {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) || "/" : "/";
  return { path, query: new URLSearchParams(location.search) };
}

// Place is how an entry of the history was left: how far it was scrolled, and the link that had the focus.
interface Place { y: number; link: string | null }
const places = new Map<number, Place>();
const entryOf = (state: unknown) => (state as { entry?: number } | null)?.entry ?? 0;
let entry = entryOf(history.state), lastEntry = entry;

function leavePlace() {
  places.set(entry, { y: window.scrollY, link: document.activeElement?.closest("a")?.getAttribute("href") ?? null });
}

// returnTo scrolls to a place once the page is long enough for it, unless the user moves first.
function returnTo(place: Place) {
  const until = performance.now() + 3000;
  let moved = false;
  const move = () => { moved = true; };
  const moves = ["wheel", "pointerdown", "keydown"];
  for (const name of moves) window.addEventListener(name, move, { once: true });
  const look = () => {
    const link = place.link && document.querySelector<HTMLElement>(`main a[href="${CSS.escape(place.link)}"]`);
    const long = document.documentElement.scrollHeight - window.innerHeight >= place.y;
    if (!moved && (!long || (place.link && !link)) && performance.now() < until) { requestAnimationFrame(look); return; }
    for (const name of moves) window.removeEventListener(name, move);
    if (moved) return;
    (link || document.getElementById("content"))?.focus({ preventScroll: true });
    window.scrollTo(0, place.y);
  };
  requestAnimationFrame(look);
}

export function go(path: string, replace = false) {
  if (replace) history.replaceState({ entry }, "", base + path);
  else {
    leavePlace();
    entry = ++lastEntry;
    history.pushState({ entry }, "", base + path);
  }
  const before = address.value.path;
  address.value = read();
  if (!replace && before !== address.value.path) {
    window.scrollTo(0, 0);
    document.getElementById("content")?.focus({ preventScroll: true });
  }
}

// setQuery changes parameters of the address; an empty value removes one.
export function setQuery(changes: Record<string, string>, replace = true) {
  const query = new URLSearchParams(address.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  go(address.value.path + (text ? `?${text}` : ""), replace);
}

// setFilter sets the list's filter line, and begins with the newest that it matches.
export const setFilter = (line: string) => setQuery({ filter: line, from: "" }, false);

window.addEventListener("popstate", (e) => {
  const before = address.value.path;
  leavePlace();
  entry = entryOf(e.state);
  lastEntry = Math.max(lastEntry, entry);
  address.value = read();
  if (before !== address.value.path) returnTo(places.get(entry) ?? { y: 0, link: null });
});

// Links within the pages change the address without loading anything.
document.addEventListener("click", (e) => {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const link = (e.target as Element | null)?.closest?.("a");
  if (!link || link.target || link.hash || link.download || link.origin !== location.origin || !link.pathname.startsWith(`${base}/`)) return;
  e.preventDefault();
  go(link.pathname.slice(base.length) + link.search);
});
