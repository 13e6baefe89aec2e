// Numbers and times as people read them.
import { t } from "./texts";

const units = ["B", "kB", "MB", "GB"];

export function formatBytes(n: number): string {
  let i = 0;
  while (n >= 1000 && i < units.length - 1) { n /= 1000; i++; }
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

const spans: [number, string][] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

// formatSeconds gives a duration in two units at most.
export function formatSeconds(s: number): string {
  if (s < 0.0995) return `${Math.round(s * 1000)} ms`;
  if (s < 9.95) return `${s.toFixed(s < 1 ? 2 : 1)} s`;
  const at = Math.max(spans.findIndex(([length]) => Math.round(s) >= length), 0);
  const [length, unit] = spans[at]!, [part, partUnit] = spans[at + 1] ?? [1, ""];
  const parts = Math.round(Math.round(s) / part), per = length / part;
  const whole = Math.floor(parts / per), rest = partUnit ? parts % per : 0;
  return `${whole} ${unit}${rest ? ` ${rest} ${partUnit}` : ""}`;
}

const day = new Intl.DateTimeFormat("en-GB", { day: "2-digit", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export function formatTime(iso: string): string {
  const d = new Date(iso);
  return `${day.format(d)}, ${clock.format(d)}`;
}

export function formatClock(iso: string): string { return clock.format(new Date(iso)); }

export function formatAge(iso: string, now: number): string {
  const s = Math.max(0, (now - Date.parse(iso)) / 1000);
  if (s < 5) return t.ages.now;
  const at = spans.findIndex(([length]) => s >= length);
  if (at > 0) return t.ages.ago(Math.floor(s / spans[at]![0]), spans[at]![1]);
  return day.format(new Date(iso));
}

export function secondsBetween(a: string, b: string): number { return (Date.parse(b) - Date.parse(a)) / 1000; }

export const formatCount = (n: number) => n.toLocaleString("en-GB");
export const formatPercent = (x: number) => `${Math.round(x * 100)} %`;
