// The client of the public API: addresses, errors and types of what the pages use of it.
import { signal } from "@preact/signals";
import { t } from "./texts";

export interface Fault { code: string; stage: string; page: number; message: string; retryable: boolean }
export interface StageStatus { name: string; startTime?: string; endTime?: string; unitsDone: number; busySeconds: number }
export interface Finding { kind: string; count: number; policy: string; detail: string }
export interface PageFailure { page: number; reason: string; code: string }
export interface Facts {
  pdfVersion: string; encrypted: boolean; title: string; author: string; creator: string; producer: string; tagged: boolean;
  outline: { title: string; level: number; page: number }[];
}
export interface Job {
  id: string; state: string; filename: string; sizeBytes: number; sha256: string; pageCount: number; pagesDone: number;
  outcomes: Record<string, number>; stages: StageStatus[]; createTime: string; endTime?: string; error?: Fault; document?: Facts;
  findings: Finding[]; run: number; resultRun: number; failures: PageFailure[]; expireTime?: string; duplicateOf: string;
  failedTries: Record<string, number>; labels: Record<string, string>; batch: string;
}
export interface JobEvent { id: string; time: string; type: string; run: number; stage: string; page: number; code: string; attributes: Record<string, string> }
export interface Artifact { name: string; contentType: string; sizeBytes: number; createTime: string }
export type BBox = [number, number, number, number];
export interface Word { text: string; bbox: BBox; confidence?: number; font: number; size: number; link: number }
export interface Line { bbox: BBox; words: Word[]; angle: number }
export interface Cell { row: number; column: number; rowSpan: number; columnSpan: number; bbox: BBox; text: string }
export interface Table { rows: number; columns: number; cells: Cell[]; ruled: boolean; number: number; headerRows: number }
export interface Block { type: string; bbox: BBox; lines: Line[]; level: number; marker: string; language: string; table?: Table; image: number }
export interface Page {
  number: number; width: number; height: number; outcome: string; reason: string; error?: Fault; text: string; blocks: Block[];
  words: Word[]; confidence: number; dpi: number; quality: number; language: string; label: string; engine: string; notes: string[];
  images: { bbox: BBox; name: string; kind: string; mask: boolean }[]; links: { bbox: BBox; uri: string; page: number }[];
}
export interface Hit {
  job: string; filename: string; page: number; score: number; snippet: string; highlights: { start: number; end: number }[];
  boxes: { text: string; bbox: BBox }[]; createTime: string;
}
export interface Stage {
  name: string; waiting: Record<string, string>; inFlight: string; oldest?: string; rate: number; etaSeconds: number;
  deadLetters: string; replicas: number;
}

export const finalStates = ["SUCCEEDED", "PARTIAL", "FAILED", "REJECTED", "CANCELLED", "EXPIRED", "DELETED"];
export const hasEnded = (job: Job) => finalStates.includes(job.state);

// ApiError is an answer that says no. Its code is stable; its message is for people.
export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, message: string) { super(message); }
}

const keyName = "inkstream.key";

// apiKey is the credential of this tab. It is kept in the tab's own session storage, which ends with the tab.
export const apiKey = signal(sessionStorage.getItem(keyName) ?? "");
// signInWanted is set when the server asks for a credential, or refuses the one that there is.
export const signInWanted = signal(false);

export function setKey(key: string) {
  apiKey.value = key;
  if (key) sessionStorage.setItem(keyName, key);
  else sessionStorage.removeItem(keyName);
}

export function authorization(): Record<string, string> {
  return apiKey.value ? { Authorization: `Bearer ${apiKey.value}` } : {};
}

// errorFromBody makes an ApiError of an error's body.
export function errorFromBody(status: number, body: string): ApiError {
  try {
    const parsed = JSON.parse(body) as { error?: { code?: string; message?: string }; code?: string; message?: string };
    const e = parsed.error ?? parsed;
    if (e.message) return new ApiError(status, String(e.code ?? status), e.message);
  } catch { /* no JSON: the status says what there is to say */ }
  return new ApiError(status, String(status), t.errors.status(status));
}

// request sends one request. A refusal is an ApiError; a server that does not answer is one with status 0.
export async function request(method: string, path: string, body?: unknown, abort?: AbortSignal): Promise<Response> {
  const headers = authorization();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal: abort });
  } catch (e) {
    if (abort?.aborted) throw e;
    throw new ApiError(0, "UNREACHABLE", t.errors.unreachable);
  }
  if (answer.ok && !(method === "GET" && answer.status === 202)) return answer; // 202: the server has yet to make it
  if (answer.status === 401) signInWanted.value = true;
  throw errorFromBody(answer.status, await answer.text());
}

export async function getJSON<T>(path: string, abort?: AbortSignal): Promise<T> {
  return (await request("GET", path, undefined, abort)).json() as Promise<T>;
}

export async function post<T>(path: string, body?: unknown): Promise<T> {
  return (await request("POST", path, body)).json() as Promise<T>;
}

const jobPath = (id: string) => `/v1/jobs/${encodeURIComponent(id)}`;

export const api = {
  list: (query: URLSearchParams, abort?: AbortSignal) =>
    getJSON<{ jobs?: Job[]; nextPageToken: string }>(`/v1/jobs?${query}`, abort),
  job: (id: string, abort?: AbortSignal) => getJSON<Job>(jobPath(id), abort),
  events: (id: string, token: string, abort?: AbortSignal) =>
    getJSON<{ events?: JobEvent[]; nextPageToken: string }>(
      `${jobPath(id)}/events?page_size=200${token ? `&page_token=${encodeURIComponent(token)}` : ""}`, abort),
  artifacts: (id: string, abort?: AbortSignal) => getJSON<{ artifacts?: Artifact[] }>(`${jobPath(id)}/artifacts`, abort),
  page: (id: string, n: number, abort?: AbortSignal) => getJSON<Page>(`${jobPath(id)}/pages/${n}`, abort),
  search: (query: URLSearchParams, abort?: AbortSignal) =>
    getJSON<{ hits?: Hit[]; nextPageToken: string }>(`/v1/search?${query}`, abort),
  stages: (abort?: AbortSignal) => getJSON<{ stages?: Stage[] }>("/v1/stages", abort),
  cancel: (id: string) => post<Job>(`${jobPath(id)}:cancel`),
  retry: (id: string, all = false) => post<Job>(`${jobPath(id)}:retry${all ? "?all=true" : ""}`),
  remove: (id: string) => request("DELETE", jobPath(id)),
  imagePath: (id: string, n: number, dpi: number) => `${jobPath(id)}/pages/${n}/image?dpi=${dpi}`,
  artifactPath: (id: string, name: string) => `${jobPath(id)}/artifacts/${name.split("/").map(encodeURIComponent).join("/")}`,
  zipPath: (id: string) => `${jobPath(id)}/artifacts.zip`,
};

// watchJob calls change with the job now and at every change, until it has ended or abort says so. EventSource cannot
// carry a key, so the stream is read by hand, as lines of JSON; a stream that breaks off is opened again.
export async function watchJob(id: string, change: (job: Job) => void, abort: AbortSignal): Promise<void> {
  for (let pause = 500; !abort.aborted; pause = Math.min(pause * 2, 15000)) {
    try {
      const answer = await request("GET", `${jobPath(id)}/watch`, undefined, abort);
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "", last: Job | undefined;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        rest += value;
        const lines = rest.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (!line.trim()) continue;
          const job = JSON.parse(line) as Job;
          if (!job.state) continue;
          last = job;
          change(job);
          pause = 500;
        }
      }
      if (last && hasEnded(last)) return;
    } catch (e) {
      if (abort.aborted) return;
      if (e instanceof ApiError && e.status >= 400 && e.status < 500 && e.status !== 429) throw e;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pause);
      abort.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
    });
  }
}

// save has the browser store a file. With a key the bytes come through memory, because a link cannot carry one.
export async function save(path: string, name: string): Promise<void> {
  const link = document.createElement("a");
  link.download = name.split("/").pop() ?? name;
  if (!apiKey.value) {
    link.href = path;
    link.click();
    return;
  }
  const blob = await (await request("GET", path)).blob();
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
