// The address is the state: pages read it from here and change it here, so that Back and shared links work.
import { signal } from "@preact/signals";

export const base = "/ui";
export const address = signal(read());

function read() {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) || "/" : "/";
  return { path, query: new URLSearchParams(location.search) };
}

export function go(path: string, replace = false) {
  if (replace) history.replaceState(null, "", base + path);
  else history.pushState(null, "", base + path);
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

window.addEventListener("popstate", () => { address.value = read(); });

// Links within the pages change the address without loading anything.
document.addEventListener("click", (e) => {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const link = (e.target as Element | null)?.closest?.("a");
  if (!link || link.target || link.hash || link.download || link.origin !== location.origin || !link.pathname.startsWith(`${base}/`)) return;
  e.preventDefault();
  go(link.pathname.slice(base.length) + link.search);
});
