// Page images. They are fetched, because an <img> cannot carry a key; few at a time, because each is drawn by the server;
// and the latest are kept.
import { ApiError, api, request } from "./api";

const parallel = 3, kept = 160;
const urls = new Map<string, string>();
const waiting: { path: string; abort: AbortSignal; done: (url: string) => void; fail: (e: unknown) => void }[] = [];
let underWay = 0;

// pageImage returns the address of a page's image in this browser.
export function pageImage(id: string, page: number, dpi: number, abort: AbortSignal, urgent = false): Promise<string> {
  const path = api.imagePath(id, page, dpi);
  const known = urls.get(path);
  if (known) {
    urls.delete(path); // it is the latest now
    urls.set(path, known);
    return Promise.resolve(known);
  }
  return new Promise((done, fail) => {
    const job = { path, abort, done, fail };
    if (urgent) waiting.unshift(job);
    else waiting.push(job);
    next();
  });
}

function next() {
  while (underWay < parallel) {
    const job = waiting.shift();
    if (!job) return;
    if (job.abort.aborted) { job.fail(new ApiError(0, "ABORTED", "")); continue; }
    underWay++;
    request("GET", job.path, undefined, job.abort).then((a) => a.blob()).then((blob) => {
      const url = URL.createObjectURL(blob);
      urls.set(job.path, url);
      for (const [path, old] of urls) {
        if (urls.size <= kept) break;
        URL.revokeObjectURL(old);
        urls.delete(path);
      }
      job.done(url);
    }).catch(job.fail).finally(() => { underWay--; next(); });
  }
}
