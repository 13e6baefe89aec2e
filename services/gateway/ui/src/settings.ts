// What this browser keeps of a user's choices. What cannot be read is as if it had never been kept.

// loadSetting returns what is kept under a name, if check takes it, or else nothing.
export function loadSetting<T>(name: string, check: (value: unknown) => value is T): T | undefined {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(name) ?? "null");
    return check(value) ? value : undefined;
  } catch { return undefined; }
}

// keepSetting keeps a value. Where the browser keeps nothing, the choice lasts as long as the page.
export function keepSetting(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch { /* the store is full or turned off */ }
}
