// Uploads: the tus protocol where the server has a folder for it, so that a broken connection goes on where it was;
// else the document as a plain body.
import { signal, type Signal } from "@preact/signals";
import { ApiError, api, errorFromBody, hasEnded, type Job, onJobChange, signInWanted, sleep } from "./api";
import { t } from "./texts";

export interface Upload {
  key: number;
  name: string;
  size: number;
  sent: Signal<number>;
  // waiting, sending, accepted, refused, or stopped, which can go on.
  phase: Signal<string>;
  reason: Signal<string>;
  id: string; // of its job, once it is accepted
  job: Signal<Job | null>;
  start: () => void;
  stop: () => void;
  // unlock sends the file again, with the password that it needs.
  unlock: (password: string) => void;
}

export type UploadOptions = Record<string, string>;

const parallel = 3; // browsers have six connections to a server, and the pages need some
const tusHeaders = { "Tus-Resumable": "1.0.0" };
const tries = 6;

export const uploads = signal<Upload[]>([]);
let underWay = 0, made = 0;

function startNext() {
  for (const u of uploads.peek()) {
    if (underWay >= parallel) return;
    if (u.phase.peek() === "waiting") u.start();
  }
}

// addUploads queues files. Those of more names than one folder level keep only their own name, as the API does.
// Several that come together are a batch.
export function addUploads(files: File[], options: UploadOptions) {
  const shared = files.length > 1 ? { ...options, batch: newID() } : options;
  const fresh = files.map((f) => newUpload(f, shared));
  uploads.value = [...fresh, ...uploads.peek()];
  startNext();
}

// newID returns a ULID: 48 bits of time and 80 at random, in Crockford's base 32 (github.com/ulid/spec).
function newID(): string {
  const digits = "0123456789abcdefghjkmnpqrstvwxyz";
  let time = Date.now(), id = "";
  for (let i = 0; i < 10; i++, time = Math.floor(time / 32)) id = digits[time % 32]! + id;
  for (const b of crypto.getRandomValues(new Uint8Array(16))) id += digits[b % 32]!;
  return id;
}

export function clearUploads() {
  uploads.value = uploads.peek().filter(isUnderWay);
  followJobs();
}

// resumeUploads has uploads that were stopped go on, a few at a time.
export function resumeUploads(list: Upload[]) {
  for (const u of list) u.phase.value = "waiting";
  startNext();
}

export const isUnderWay = (u: Upload) => u.phase.value === "waiting" || u.phase.value === "sending";

// A page that is left takes what it has not sent with it.
window.addEventListener("beforeunload", (e) => { if (uploads.peek().some(isUnderWay)) e.preventDefault(); });

let unfollow: (() => void) | null = null;

// followJobs keeps the jobs of the uploads current as long as one of them has not ended.
function followJobs() {
  const open = uploads.peek().filter((u) => u.id && !(u.job.peek() && hasEnded(u.job.peek()!)));
  if (open.length === 0) {
    unfollow?.();
    unfollow = null;
    return;
  }
  unfollow ??= onJobChange(({ job, reset }) => {
    if (reset) void loadJobs();
    const u = job && uploads.peek().find((u) => u.id === job.id);
    if (u) setJob(u, job);
  });
}

function setJob(u: Upload, job: Job) {
  u.job.value = job;
  if (hasEnded(job)) followJobs();
}

// loadJobs asks for the jobs that have not ended, one by one: the connection has missed what became of them meanwhile.
async function loadJobs() {
  for (const u of uploads.peek()) {
    if (u.id && !(u.job.peek() && hasEnded(u.job.peek()!))) await loadJob(u);
  }
}

// loadJob asks for an upload's job. What the connection has told of it meanwhile is newer if it says that it has ended.
async function loadJob(u: Upload) {
  const job = await api.job(u.id).catch(() => null); // the connection tells of its next change all the same
  if (job && !(u.job.peek() && hasEnded(u.job.peek()!))) setJob(u, job);
}

function newUpload(file: File, chosen: UploadOptions): Upload {
  let options = chosen;
  let abort = new AbortController();
  const u: Upload = {
    key: ++made, name: file.name, size: file.size, sent: signal(0), phase: signal("waiting"), reason: signal(""), id: "", job: signal(null),
    start: () => {
      abort = new AbortController();
      u.phase.value = "sending";
      u.reason.value = "";
      underWay++;
      send(file, options, u, abort.signal).then((id) => {
        u.sent.value = file.size;
        u.id = id;
        u.phase.value = "accepted";
        u.reason.value = "";
        followJobs();
        return loadJob(u);
      }).catch((e: unknown) => {
        u.phase.value = abort.signal.aborted || e instanceof ApiError && e.passes ? "stopped" : "refused";
        u.reason.value = abort.signal.aborted ? "" : e instanceof Error ? e.message : String(e);
      }).finally(() => { underWay--; startNext(); });
    },
    stop: () => {
      abort.abort();
      if (u.phase.peek() === "waiting") u.phase.value = "stopped";
    },
    unlock: (password) => {
      options = { ...options, password };
      u.id = "";
      u.job.value = null;
      u.sent.value = 0;
      u.phase.value = "waiting";
      startNext();
    },
  };
  return u;
}

// Places remember, for this tab, where an upload stood, by what the browser says of the file and what was chosen for it.
const places = new Set<string>(); // those of uploads under way

// takePlace returns the name of a place that no other upload has: two files of one name in two folders are two.
function takePlace(file: File, fields: Record<string, string>): string {
  const chosen = Object.entries(fields).filter(([name]) => name !== "batch").join(";");
  const name = ["inkstream.upload", file.webkitRelativePath, file.size, file.lastModified, chosen].join(".");
  for (let n = 1; ; n++) {
    const place = n === 1 ? name : `${name}.${n}`;
    if (places.has(place)) continue;
    places.add(place);
    return place;
  }
}

async function send(file: File, options: UploadOptions, u: Upload, abort: AbortSignal): Promise<string> {
  const fields: Record<string, string> = { filename: file.name };
  for (const [name, value] of Object.entries(options)) if (value) fields[name] = value;
  if (fields.password) return sendPersistently(file, fields, u, abort, { get: () => null, set: () => undefined }); // nothing of it is kept
  const place = takePlace(file, fields);
  try {
    return await sendPersistently(file, fields, u, abort, {
      get: () => sessionStorage.getItem(place),
      set: (address) => address ? sessionStorage.setItem(place, address) : sessionStorage.removeItem(place),
    });
  } finally { places.delete(place); }
}

interface Place { get: () => string | null; set: (address: string | null) => void }

// sendPersistently sends a document, and goes on where it stood when the connection breaks off or the server takes nothing
// for a while. A server that asks for patience is given it; one that does not answer is given a minute.
async function sendPersistently(file: File, fields: Record<string, string>, u: Upload, abort: AbortSignal, place: Place): Promise<string> {
  let address = place.get();
  const key = newID(); // of the one job that comes of a document that is sent whole, however often
  for (let n = 1; ;) {
    try {
      if (!address) {
        address = await createUpload(file, fields, abort);
        if (address === null) return await sendWhole(file, fields, key, u, abort);
        place.set(address);
      }
      const id = await continueUpload(address, file, u, abort);
      place.set(null);
      return id;
    } catch (e) {
      if (abort.aborted || !(e instanceof ApiError)) throw e;
      if (e.status === 429) {
        const seconds = Math.max(e.retryAfter, 1);
        u.reason.value = t.upload.patience(e.message, seconds);
        await sleep(seconds * 1000, abort);
      } else if ((e.status === 0 || e.status >= 500 || e.status === 409 || e.status === 423) && n < tries) {
        u.reason.value = t.upload.again(n);
        await sleep(Math.max(500 * 2 ** n, e.retryAfter * 1000), abort);
        n++;
      } else if ((e.status === 404 || e.status === 410) && address && n < tries) {
        address = null; // the server has forgotten it: another begins
        place.set(null);
        n++;
      } else {
        if (e.status !== 0 && e.status !== 401 && e.status < 500) place.set(null);
        throw e;
      }
      if (abort.aborted) throw e;
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
  const e = errorFromBody(status, body, header("Retry-After"));
  if (e.code === "RESUMABLE_OFF") return null;
  throw e;
}

// continueUpload sends what is missing, and returns the job's id.
async function continueUpload(address: string, file: File, u: Upload, abort: AbortSignal): Promise<string> {
  const where = await exchange("HEAD", address, tusHeaders, null, abort);
  if (where.status >= 400) throw errorFromBody(where.status, where.body, where.header("Retry-After"));
  const known = where.header("Inkstream-Job");
  if (known) return known;
  const offset = Number(where.header("Upload-Offset"));
  u.sent.value = offset;
  const answer = await exchange("PATCH", address,
    { ...tusHeaders, "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" },
    file.slice(offset), abort, (n) => { u.sent.value = offset + n; });
  if (answer.status >= 400) throw errorFromBody(answer.status, answer.body, answer.header("Retry-After"));
  const id = answer.header("Inkstream-Job");
  if (!id) throw new ApiError(0, "CUT", t.errors.unreachable); // not all has come: ask where it stands
  return id;
}

async function sendWhole(file: File, fields: Record<string, string>, key: string, u: Upload, abort: AbortSignal): Promise<string> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (name !== "filename") form.set(name, value);
  form.set("file", file, file.name);
  const { status, body, header } = await exchange("POST", "/v1/jobs", { "Idempotency-Key": key }, form, abort, (n) => { u.sent.value = Math.min(n, file.size); });
  if (status >= 300) throw errorFromBody(status, body, header("Retry-After"));
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
