// The filter line: "state:failed label:case=17 after:2026-01-01 some words". Words that are no condition are a part of
// the file name.
export const states = ["pending", "running", "succeeded", "partial", "failed", "rejected", "cancelled"];

export interface Filter { state: string[]; label: string[]; code: string; batch: string; after: string; before: string; filename: string; wrong: string }

// parseFilter reads a line. wrong is the first part of it that looks like a condition and is none.
export function parseFilter(line: string): Filter {
  const f: Filter = { state: [], label: [], code: "", batch: "", after: "", before: "", filename: "", wrong: "" };
  const words: string[] = [];
  for (const part of line.trim().split(/\s+/)) {
    const at = part.indexOf(":");
    const name = at > 0 ? part.slice(0, at).toLowerCase() : "";
    const value = part.slice(at + 1);
    if (name === "state") {
      const known = value.toLowerCase().split(",").filter((s) => states.includes(s));
      f.state.push(...known);
      if (known.length < value.split(",").length) f.wrong ||= part;
    }
    else if (name === "label" && value) f.label.push(value);
    else if (name === "code" && value) f.code = value.toUpperCase();
    else if (name === "batch" && value) f.batch = value;
    else if (name === "after" && !Number.isNaN(Date.parse(value))) f.after = new Date(value).toISOString();
    else if (name === "before" && !Number.isNaN(Date.parse(value))) f.before = new Date(value).toISOString();
    else if (name === "after" || name === "before") f.wrong ||= part;
    else if (name === "file" && value) words.push(value);
    else if (part) words.push(part);
  }
  f.filename = words.join(" ");
  return f;
}

// toQuery returns a filter as the API takes it.
export function toQuery(f: Filter): URLSearchParams {
  const q = new URLSearchParams();
  for (const s of f.state) q.append("state", s.toUpperCase());
  for (const l of f.label) q.append("label", l);
  if (f.code) q.set("code", f.code);
  if (f.batch) q.set("batch", f.batch);
  if (f.after) q.set("create_after", f.after);
  if (f.before) q.set("create_before", f.before);
  if (f.filename) q.set("filename", f.filename);
  return q;
}

// withState returns the line with exactly this state, or without any.
export function withState(line: string, state: string): string {
  const rest = line.trim().split(/\s+/).filter((p) => p && !p.toLowerCase().startsWith("state:"));
  return (state ? [`state:${state}`, ...rest] : rest).join(" ");
}

// toJSON returns a filter as calls with a body take it.
export function toJSON(f: Filter): object {
  return {
    state: f.state.map((s) => s.toUpperCase()), label: f.label, code: f.code, batch: f.batch, filename: f.filename,
    ...(f.after && { createAfter: f.after }), ...(f.before && { createBefore: f.before }),
  };
}

// withCode returns the line with exactly this code, or without any.
export function withCode(line: string, code: string): string {
  const rest = line.trim().split(/\s+/).filter((p) => p && !p.toLowerCase().startsWith("code:"));
  return (code ? [...rest, `code:${code}`] : rest).join(" ");
}
