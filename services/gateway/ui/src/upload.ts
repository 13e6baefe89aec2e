// Uploads: the tus protocol where the server has a folder for it, so that a broken connection goes on where it was;
// else the document as a plain body.
import { signal, type Signal } from "@preact/signals";
import { ApiError, api, errorFromBody, hasEnded, type Job, signInWanted, watchJob } from "./api";
import { t } from "./texts";

export interface Upload {
  name: string;
  size: number;
  sent: Signal<number>;
  // waiting, sending, accepted, refused or stopped.
  phase: Signal<string>;
  reason: Signal<string>;
  job: Signal<Job | null>;
  start: () => void;
  stop: () => void;
}

export type UploadOptions = Record<string, string>;

const parallel = 3; // browsers have six connections to a server, and the pages need some
const tusHeaders = { "Tus-Resumable": "1.0.0" };
const tries = 6;

export const uploads = signal<Upload[]>([]);
let underWay = 0;

function startNext() {
  for (const u of uploads.peek()) {
    if (underWay >= parallel) return;
    if (u.phase.peek() === "waiting") u.start();
  }
}

// addUploads queues files. Those of more names than one folder level keep only their own name, as the API does.
// Several that come together are a batch.
export function addUploads(files: File[], options: UploadOptions) {
  const shared = files.length > 1 ? { ...options, batch: newBatchID() } : options;
  const fresh = files.map((f) => newUpload(f, shared));
  uploads.value = [...fresh, ...uploads.peek()];
  startNext();
}

// newBatchID returns a ULID: 48 bits of time and 80 at random, in Crockford's base 32 (github.com/ulid/spec).
function newBatchID(): string {
  const digits = "0123456789abcdefghjkmnpqrstvwxyz";
  let time = Date.now(), id = "";
  for (let i = 0; i < 10; i++, time = Math.floor(time / 32)) id = digits[time % 32]! + id;
  for (const b of crypto.getRandomValues(new Uint8Array(16))) id += digits[b % 32]!;
  return id;
}

export function clearUploads() {
  uploads.value = uploads.peek().filter((u) => u.phase.peek() === "waiting" || u.phase.peek() === "sending");
}

function newUpload(file: File, options: UploadOptions): Upload {
  let abort = new AbortController();
  const u: Upload = {
    name: file.name, size: file.size, sent: signal(0), phase: signal("waiting"), reason: signal(""), job: signal(null),
    start: () => {
      abort = new AbortController();
      u.phase.value = "sending";
      u.reason.value = "";
      underWay++;
      send(file, options, u, abort.signal).then(async (id) => {
        u.sent.value = file.size;
        u.phase.value = "accepted";
        const job = await api.job(id);
        u.job.value = job;
        // The list below shows the rest; what this row must still say is a refusal or that the document was known.
        if (!hasEnded(job)) void watchJob(id, (j) => { u.job.value = j; }, abort.signal).catch(() => undefined);
      }).catch((e: unknown) => {
        if (u.phase.peek() === "accepted") return;
        u.phase.value = abort.signal.aborted ? "stopped" : "refused";
        u.reason.value = abort.signal.aborted ? "" : e instanceof Error ? e.message : String(e);
      }).finally(() => { underWay--; startNext(); });
    },
    stop: () => {
      abort.abort();
      if (u.phase.peek() === "waiting") u.phase.value = "stopped";
    },
  };
  return u;
}

// A place remembers, for this tab, where an upload stood, by what the browser says of the file.
const placeName = (f: File) => `inkstream.upload.${f.name}.${f.size}.${f.lastModified}`;

async function send(file: File, options: UploadOptions, u: Upload, abort: AbortSignal): Promise<string> {
  const fields: Record<string, string> = { filename: file.name };
  for (const [name, value] of Object.entries(options)) if (value) fields[name] = value;
  const place = placeName(file);
  let address = sessionStorage.getItem(place);
  if (!address) {
    const made = await createUpload(file, fields, abort);
    if (made === null) return sendWhole(file, fields, u, abort);
    address = made;
    sessionStorage.setItem(place, address);
  }
  for (let n = 1; ; n++) {
    try {
      const id = await continueUpload(address, file, u, abort);
      sessionStorage.removeItem(place);
      return id;
    } catch (e) {
      const goes = e instanceof ApiError && (e.status === 0 || e.status >= 500 || e.status === 409 || e.status === 423);
      if (abort.aborted || !goes || n >= tries) {
        if (!goes) sessionStorage.removeItem(place);
        throw e;
      }
      u.reason.value = t.upload.again(n);
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** n));
    }
  }
}

function base64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (b) => String.fromCharCode(b)).join(""));
}

// createUpload returns the address of a new upload; null where the server takes none that can be resumed.
async function createUpload(file: File, fields: Record<string, string>, abort: AbortSignal): Promise<string | null> {
  const meta = Object.entries(fields).map(([name, value]) => `${name} ${base64(value)}`).join(",");
  const { status, body, header } = await exchange("POST", "/v1/uploads",
    { ...tusHeaders, "Upload-Length": String(file.size), "Upload-Metadata": meta }, null, abort);
  if (status === 201) return header("Location");
  const e = errorFromBody(status, body);
  if (e.code === "RESUMABLE_OFF") return null;
  throw e;
}

// continueUpload sends what is missing, and returns the job's id.
async function continueUpload(address: string, file: File, u: Upload, abort: AbortSignal): Promise<string> {
  const where = await exchange("HEAD", address, tusHeaders, null, abort);
  if (where.status >= 400) throw errorFromBody(where.status, where.body);
  const known = where.header("Inkstream-Job");
  if (known) return known;
  const offset = Number(where.header("Upload-Offset"));
  u.sent.value = offset;
  const answer = await exchange("PATCH", address,
    { ...tusHeaders, "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" },
    file.slice(offset), abort, (n) => { u.sent.value = offset + n; });
  if (answer.status >= 400) throw errorFromBody(answer.status, answer.body);
  const id = answer.header("Inkstream-Job");
  if (!id) throw new ApiError(0, "CUT", t.errors.unreachable); // not all has come: ask where it stands
  return id;
}

async function sendWhole(file: File, fields: Record<string, string>, u: Upload, abort: AbortSignal): Promise<string> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (name !== "filename") form.set(name, value);
  form.set("file", file, file.name);
  const { status, body } = await exchange("POST", "/v1/jobs", {}, form, abort, (n) => { u.sent.value = Math.min(n, file.size); });
  if (status >= 300) throw errorFromBody(status, body);
  return (JSON.parse(body) as Job).id;
}

// exchange is one request whose progress shows, which fetch has no way for.
function exchange(method: string, path: string, headers: Record<string, string>, body: Blob | FormData | null,
  abort: AbortSignal, progress?: (sent: number) => void): Promise<{ status: number; body: string; header: (name: string) => string }> {
  return new Promise((resolve, reject) => {
    const x = new XMLHttpRequest();
    x.open(method, path);
    for (const [name, value] of Object.entries(headers)) x.setRequestHeader(name, value);
    if (progress) x.upload.onprogress = (e) => progress(e.loaded);
    x.onload = () => {
      if (x.status === 401) signInWanted.value = true;
      resolve({ status: x.status, body: x.responseText, header: (name) => x.getResponseHeader(name) ?? "" });
    };
    x.onerror = () => reject(new ApiError(0, "UNREACHABLE", t.errors.unreachable));
    x.onabort = () => reject(new ApiError(0, "ABORTED", ""));
    abort.addEventListener("abort", () => x.abort(), { once: true });
    x.send(body);
  });
}

// filesOfDrop returns the files of a drop. Of folders, only PDFs are taken, at any depth.
export async function filesOfDrop(data: DataTransfer): Promise<File[]> {
  const entries = Array.from(data.items).map((i) => i.webkitGetAsEntry?.()).filter((e) => e !== null && e !== undefined);
  if (entries.length === 0) return Array.from(data.files);
  const files: File[] = [];
  const walk = async (entry: FileSystemEntry, inFolder: boolean): Promise<void> => {
    if (entry.isFile) {
      if (inFolder && !isPDFName(entry.name)) return;
      files.push(await new Promise<File>((resolve, reject) => { (entry as FileSystemFileEntry).file(resolve, reject); }));
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) { // a reader answers at most a hundred at a time
      const part = await new Promise<FileSystemEntry[]>((resolve, reject) => { reader.readEntries(resolve, reject); });
      if (part.length === 0) return;
      for (const e of part) await walk(e, true);
    }
  };
  for (const e of entries) await walk(e, false);
  return files;
}

export const isPDFName = (name: string) => /\.pdf$/i.test(name);
