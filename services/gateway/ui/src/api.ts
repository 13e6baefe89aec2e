// The client of the public API: addresses, errors and types of what the pages use of it.
import { signal } from "@preact/signals";
import { t } from "./texts";

export interface Fault { code: string; stage: string; page: number; message: string; retryable: boolean }
export interface StageStatus { name: string; startTime?: string; endTime?: string; unitsDone: number; busySeconds: number }
export interface Finding { kind: string; count: number; policy: string; detail: string }
export interface PageFailure { page: number; reason: string; code: string }
export interface Facts {
  pdfVersion: string; encrypted: boolean; title: string; author: string; creator: string; producer: string; tagged: boolean;
}
export interface OutlineEntry { title: string; level: number; page: number }
export interface Doubt { kind: string; text: string; witness: string; bbox: BBox | []; leftOut: boolean }
export interface Job {
  id: string; state: string; filename: string; sizeBytes: number; sha256: string; pageCount: number; pagesDone: number;
  outcomes: Record<string, number>; stages: StageStatus[]; createTime: string; endTime?: string; error?: Fault; document?: Facts;
  findings: Finding[]; run: number; resultRun: number; failures: PageFailure[]; expireTime?: string; duplicateOf: string; doubtfulPages: string;
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
  doubts: Doubt[]; unreadRegions: { bbox: BBox }[];
  images: { bbox: BBox; name: string; kind: string; mask: boolean }[]; links: { bbox: BBox; uri: string; page: number }[];
}
export interface Hit {
  job: string; filename: string; page: number; score: number; snippet: string; highlights: { start: number; end: number }[];
  boxes: { text: string; bbox: BBox }[]; createTime: string;
}
export interface Stage {
  name: string; waiting: Record<string, string>; inFlight: string; oldest?: string; rate: number; etaSeconds: number;
  deadLetters: string; replicas: number;
  history?: { endTime: string; stepSeconds: number; rates: number[]; depths: string[] };
  processes: { host: string; version: string; startTime: string; inFlight: number; pid: number; walls?: Record<string, string> }[];
}
export interface Counts { total: string; states: Record<string, string>; codes: Record<string, string> }
export interface BatchSummary {
  id: string; createTime: string; jobCount: string; states: Record<string, string>; pageCount: string; done: boolean;
}
export interface BatchAnswer { done: number; skipped: number; states: Record<string, number>; nextPageToken: string }
export interface DeadLetterGroup { stage: string; code: string; count: string; oldest: string; newest: string; error: string }
export interface DeadLetter { id: string; stage: string; job: string; code: string; error: string; attempts: number; time: string; payload: string; traceId: string }
export interface Key {
  id: string; scopes: string[]; name: string; createTime: string; expireTime?: string; secret: string; subject: string;
}
export interface Webhook { id: string; url: string; createTime: string; secret: string }
export interface Delivery {
  id: string; job: string; time: string; attempt: number; status: number; error: string; seconds: number; retryTime?: string;
}

export const finalStates = ["SUCCEEDED", "PARTIAL", "FAILED", "REJECTED", "CANCELLED", "EXPIRED", "DELETED"];
export const hasEnded = (job: Job) => finalStates.includes(job.state);

// needsPassword reports whether a document was refused for its password alone.
export const needsPassword = (job: Job | null) => job?.error?.code === "ENCRYPTED" || job?.error?.code === "WRONG_PASSWORD";

// ApiError is an answer that says no. Its code is stable; its message is for people.
export class ApiError extends Error {
  // retryAfter is after how many seconds the server wants to be asked again; 0 where it does not say.
  constructor(readonly status: number, readonly code: string, message: string, readonly retryAfter = 0) { super(message); }

  // passes reports whether the same may be answered in a while.
  get passes(): boolean { return this.status === 0 || this.status === 401 || this.status === 429 || this.status >= 500; }
}

export interface Features {
  version: string; auth: string; index: boolean; resumable: boolean; readOnly: boolean; maxUploadBytes: string; retentionSeconds: string; durability: string;
}
export interface Caller {
  tenant: string; scopes: string[]; name: string; credential: string; expireTime?: string; maxJobs: number; maxBytesPerDay: string; features: Features;
}

// caller is who this browser is to the server, and what it may do there; null until the server has said so.
export const caller = signal<Caller | null>(null);
// signInWanted is set when the server asks for a credential, or refuses the one that there is.
export const signInWanted = signal(false);

// may reports whether the server takes what needs a scope. What it would refuse is not shown; it refuses it all the same.
export const may = (scope: "write" | "admin") => caller.value?.scopes.includes(scope) ?? false;

export async function loadCaller(): Promise<void> {
  caller.value = await getJSON<Caller>("/v1/me");
  signInWanted.value = false;
}

// signIn gives the server a key, which gives the browser a cookie that no script can read.
export async function signIn(key: string): Promise<void> {
  await request("POST", "/v1/session", { key });
  await loadCaller();
}

// signInIssuer returns what the issuer is called at which people sign in, or nothing where they need a key.
export async function signInIssuer(): Promise<string> {
  return (await getJSON<{ issuer: string }>("/v1/session")).issuer;
}

// signInFailure is why a sign-in at the issuer came to nothing, which the address says once.
export const signInFailure = /^#signin=([a-z]+)$/.exec(location.hash)?.[1] ?? "";
if (signInFailure) history.replaceState(null, "", location.pathname + location.search);

export async function signOut(): Promise<void> {
  await request("DELETE", "/v1/session");
  caller.value = null;
  signInWanted.value = true;
}

// errorFromBody makes an ApiError of an error's body.
export function errorFromBody(status: number, body: string, retryAfter: string | null = null): ApiError {
  const seconds = Number(retryAfter) || 0;
  try {
    const parsed = JSON.parse(body) as { error?: { code?: string; message?: string }; code?: string; message?: string };
    const e = parsed.error ?? parsed;
    if (e.message) return new ApiError(status, String(e.code ?? status), e.message, seconds);
  } catch { /* no JSON: the status says what there is to say */ }
  return new ApiError(status, String(status), t.errors.status(status), seconds);
}

// request sends one request. A refusal is an ApiError; a server that does not answer is one with status 0.
export async function request(method: string, path: string, body?: unknown, abort?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal: abort });
  } catch (e) {
    if (abort?.aborted) throw e;
    throw new ApiError(0, "UNREACHABLE", t.errors.unreachable);
  }
  if (answer.ok && !(method === "GET" && answer.status === 202)) return answer; // 202: the server has yet to make it
  if (answer.status === 401 && path !== "/v1/session") signInWanted.value = true;
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
  pageMarkdown: async (id: string, n: number, abort?: AbortSignal) =>
    (await request("GET", `${jobPath(id)}/pages/${n}/markdown`, undefined, abort)).text(),
  metadata: (id: string, abort?: AbortSignal) =>
    getJSON<{ document?: { outline?: OutlineEntry[] } }>(`${jobPath(id)}/artifacts/metadata.json`, abort),
  search: (query: URLSearchParams, abort?: AbortSignal) =>
    getJSON<{ hits?: Hit[]; nextPageToken: string }>(`/v1/search?${query}`, abort),
  stages: (abort?: AbortSignal) => getJSON<{ stages?: Stage[] }>("/v1/stages?history=true", abort),
  count: (query: URLSearchParams, abort?: AbortSignal) => getJSON<Counts>(`/v1/jobs:count?${query}`, abort),
  batches: (token: string, abort?: AbortSignal) => getJSON<{ batches?: BatchSummary[]; nextPageToken: string }>(
    `/v1/batches?${new URLSearchParams({ page_size: "50", page_token: token })}`, abort),
  batch: (verb: string, body: object) => post<BatchAnswer>(`/v1/jobs:${verb}`, body),
  letterGroups: (abort?: AbortSignal) => getJSON<{ groups: DeadLetterGroup[]; truncated: boolean }>("/v1/deadletters:groups", abort),
  letters: (stage: string, code: string, token: string, abort?: AbortSignal) => getJSON<{ deadLetters: DeadLetter[]; nextPageToken: string }>(
    `/v1/deadletters?${new URLSearchParams({ stage, code, page_size: "50", page_token: token })}`, abort),
  letterBatch: (verb: string, body: object) => post<{ done: number; skipped: number; more: boolean }>(`/v1/deadletters:${verb}`, body),
  keys: (abort?: AbortSignal) => getJSON<{ keys?: Key[] }>("/v1/keys", abort),
  makeKey: (body: object) => post<Key>("/v1/keys", body),
  rotateKey: (id: string) => post<Key>(`/v1/keys/${encodeURIComponent(id)}:rotate`),
  revokeKey: (id: string) => request("DELETE", `/v1/keys/${encodeURIComponent(id)}`),
  webhooks: (abort?: AbortSignal) => getJSON<{ webhooks?: Webhook[] }>("/v1/webhooks", abort),
  makeWebhook: (url: string) => post<Webhook>("/v1/webhooks", { url }),
  dropWebhook: (id: string) => request("DELETE", `/v1/webhooks/${encodeURIComponent(id)}`),
  deliveries: (id: string, abort?: AbortSignal) => getJSON<{ deliveries?: Delivery[] }>(`/v1/webhooks/${encodeURIComponent(id)}/deliveries`, abort),
  redeliver: (id: string, delivery: string) => post(`/v1/webhooks/${encodeURIComponent(id)}/deliveries/${encodeURIComponent(delivery)}:redeliver`),
  cancel: (id: string) => post<Job>(`${jobPath(id)}:cancel`),
  retry: (id: string, also: "" | "all" | "doubts" = "") => post<Job>(`${jobPath(id)}:retry${also && `?${also}=true`}`),
  remove: (id: string) => request("DELETE", jobPath(id)),
  imagePath: (id: string, n: number, dpi: number) => `${jobPath(id)}/pages/${n}/image?dpi=${dpi}${dpi < 50 ? "&format=jpeg" : ""}`,
  artifactPath: (id: string, name: string) => `${jobPath(id)}/artifacts/${name.split("/").map(encodeURIComponent).join("/")}`,
  zipPath: (id: string) => `${jobPath(id)}/artifacts.zip`,
};

// watchJob calls change with the job now and at every change, until it has ended or abort says so.
export async function watchJob(id: string, change: (job: Job) => void, abort: AbortSignal): Promise<void> {
  let last: Job | undefined;
  await follow<Job>(`${jobPath(id)}/watch`, (job) => {
    if (!job.state) return;
    last = job;
    change(job);
  }, () => !!last && hasEnded(last), abort);
}

export interface JobChange { job?: Job; matches: boolean; reset: boolean }

const listeners = new Set<(c: JobChange) => void>();
let changes: AbortController | null = null;

// onJobChange calls listener for every job of the tenant that comes, changes or goes, until what it returns is called.
// All listeners share one connection: a browser has six to a server, for all of its tabs.
export function onJobChange(listener: (c: JobChange) => void): () => void {
  listeners.add(listener);
  if (!changes) {
    const mine = changes = new AbortController();
    follow<JobChange>("/v1/jobs:watch", (c) => { for (const l of [...listeners]) l(c); }, () => false, mine.signal)
      .catch(() => undefined) // what asks next is refused in the same way, and says so
      .finally(() => { if (changes === mine) changes = null; });
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    changes?.abort();
    changes = null;
  };
}

// follow reads a stream of JSON lines; one that breaks off is opened again, until ended says that it is over. A hidden
// tab holds no connection: a browser has few to one server, for all of its tabs.
async function follow<T>(path: string, each: (value: T) => void, ended: () => boolean, abort: AbortSignal): Promise<void> {
  for (let pause = 500; !abort.aborted; pause = Math.min(pause * 2, 15000)) {
    await visible(abort);
    if (abort.aborted) return;
    const connection = new AbortController();
    const leave = () => { if (document.hidden || abort.aborted) connection.abort(); };
    document.addEventListener("visibilitychange", leave);
    abort.addEventListener("abort", leave);
    try {
      const answer = await request("GET", path, undefined, connection.signal);
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        rest += value;
        const lines = rest.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (!line.trim()) continue;
          each(JSON.parse(line) as T);
          pause = 500;
        }
      }
      if (ended()) return;
    } catch (e) {
      if (abort.aborted) return;
      if (e instanceof ApiError && (!e.passes || e.status === 401)) throw e;
    } finally {
      document.removeEventListener("visibilitychange", leave);
      abort.removeEventListener("abort", leave);
    }
    await sleep(pause, abort);
  }
}

// sleep returns after a while, or as soon as abort says so.
export function sleep(milliseconds: number, abort: AbortSignal): Promise<void> {
  if (abort.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    abort.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}

// visible returns when the tab is seen.
function visible(abort: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !abort.aborted) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    abort.addEventListener("abort", look, { once: true });
  });
}

// save has the browser store a file.
export function save(path: string, name: string): void {
  const link = document.createElement("a");
  link.download = name.split("/").pop() ?? name;
  link.href = path;
  link.click();
}
