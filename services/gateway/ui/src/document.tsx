// A document: what became of it, stage by stage and page by page, and what can be done with it.
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { api, ApiError, type Artifact, hasEnded, type Job, type JobEvent, may, needsPassword, save, watchJob } from "./api";
import { go } from "./router";
import { formatBytes, formatClock, formatSeconds, formatTime, secondsBetween } from "./format";
import { Outcomes } from "./jobtable";
import { ask, Bar, Copyable, Labels, Notice, now, Pill, poll, useTitle } from "./widgets";
import { t } from "./texts";

export function DocumentPage({ id }: { id: string }) {
  const [job, setJob] = useState<Job | null>(null);
  const [error, setError] = useState("");
  const [run, setRun] = useState(0); // another watch begins when a retry has begun another run
  useTitle(job?.filename ?? "");
  useEffect(() => poll(async (abort) => {
    const j = await api.job(id, abort);
    setJob(j);
    setError("");
    if (!hasEnded(j)) await watchJob(id, setJob, abort);
    return 10_000; // another may retry or delete it
  }, setError), [id, run]);
  if (!job) return error ? <section class="card"><h1>{t.document.title}</h1><Notice kind="error">{error}</Notice><p><a href="/ui/">{t.errors.toDocuments}</a></p></section> : <p class="quiet">{t.loading}</p>;
  return <>
    <Head job={job} changed={(j) => { setJob(j); setRun((n) => n + 1); }} />
    {error && <Notice kind="error">{error}</Notice>}
    <div class="columns">
      <div>
        <Journey job={job} />
        <Failures job={job} />
        <Findings job={job} />
        <Artifacts job={job} />
        <Events job={job} />
      </div>
      <div>
        <FactList job={job} />
        <Commands job={job} />
      </div>
    </div>
  </>;
}

function Head({ job, changed }: { job: Job; changed: (j: Job) => void }) {
  const [error, setError] = useState("");
  const act = (what: Promise<Job>) => { setError(""); what.then(changed).catch((e: unknown) => setError((e as ApiError).message)); };
  const ended = hasEnded(job);
  const retryable = ended && ["FAILED", "PARTIAL", "CANCELLED"].includes(job.state);
  const failed = job.failures.length;
  return (
    <header class="document-head">
      <p class="crumb"><a href="/ui/">{t.document.back}</a></p>
      <div class="row"><h1><bdi>{job.filename || job.id}</bdi></h1><Pill state={job.state} />{job.run > 1 && <span class="quiet">{t.document.run(job.run)}</span>}</div>
      {job.error?.message && <Notice kind="error">{job.error.message} <code>{job.error.code}</code></Notice>}
      {needsPassword(job) && <p>{t.document.sendWithPassword} <a href="/ui/">{t.errors.toDocuments}</a></p>}
      {error && <Notice kind="error">{error}</Notice>}
      {job.duplicateOf && <p class="quiet">{t.document.duplicate} <a href={`/ui/jobs/${job.duplicateOf}`}><code>{job.duplicateOf}</code></a></p>}
      {!ended && <Bar done={job.pagesDone} of={job.pageCount} label={t.documents.progress} />}
      {!ended && <Forecast job={job} />}
      {job.pageCount > 0 && <div class="row outcomes">
        <strong class="number">{t.documents.pagesOf(job.pagesDone, job.pageCount)} {t.documents.progress.toLowerCase()}</strong>
        <Outcomes outcomes={job.outcomes} />
      </div>}
      <div class="row">
        {job.pageCount > 0 && job.pagesDone > 0 && <a class="button primary" href={`/ui/jobs/${job.id}/pages/1`}>{t.document.pages}</a>}
        {job.resultRun > 0 && <a class="button" href={`/ui/search?job=${job.id}`}>{t.document.search}</a>}
        {job.resultRun > 0 && <button type="button" onClick={() => {
          save(api.zipPath(job.id), `${job.id}.zip`);
        }}>{t.document.zip}</button>}
        {retryable && may("write") && <button type="button" onClick={() => act(api.retry(job.id))}>{failed ? t.document.retryFailed(failed) : t.document.retry}</button>}
        {job.doubtfulPages && ended && may("write") && <button type="button" onClick={() => act(api.retry(job.id, "doubts"))}>{t.document.retryDoubtful(job.doubtfulPages)}</button>}
        {(retryable || job.state === "SUCCEEDED") && may("write") && <button type="button" onClick={() => act(api.retry(job.id, "all"))}>{t.document.again}</button>}
        {!ended && may("write") && <button type="button" onClick={() => ask({
          title: t.documents.askCancel(1), text: t.documents.cancelText, yes: t.document.cancel, act: () => act(api.cancel(job.id)),
        })}>{t.document.cancel}</button>}
        {may("write") && <button type="button" class="danger" onClick={() => ask({
          title: t.documents.askRemove(1), text: t.documents.removeText, yes: t.document.remove,
          act: () => { api.remove(job.id).then(() => go("/")).catch((e: unknown) => setError((e as Error).message)); },
        })}>{t.document.remove}</button>}
      </div>
    </header>
  );
}

// Forecast is how many of the tenant's documents are ahead, or how long the rest of the pages will take. Where there is no
// telling it says nothing: before some pages are done, their speed says little.
function Forecast({ job }: { job: Job }) {
  const [ahead, setAhead] = useState<number | null>(null);
  const waits = job.state === "PENDING";
  useEffect(() => {
    setAhead(null);
    if (!waits) return undefined;
    return poll(async (abort) => {
      const query = new URLSearchParams({ state: "PENDING", create_before: job.createTime });
      setAhead(Number((await api.count(query, abort)).total));
      return 3000;
    });
  }, [job.id, waits]);
  if (waits) return ahead === null ? null : <p class="quiet" role="status">{t.document.ahead(ahead)}</p>;
  const start = Math.min(...job.stages.filter((s) => s.startTime && s.name === "render").map((s) => Date.parse(s.startTime!)));
  const least = Math.min(8, Math.ceil(job.pageCount / 4));
  if (!Number.isFinite(start) || job.pagesDone < least || job.pagesDone >= job.pageCount || job.run > 1) return null;
  const seconds = ((Math.max(now.value, Date.now()) - start) / 1000 / job.pagesDone) * (job.pageCount - job.pagesDone);
  return seconds > 0 ? <p class="quiet" role="status">{t.document.left(formatSeconds(seconds))}</p> : null;
}

const stageOrder = ["ingest", "scan", "render", "ocr", "index"];

// Journey shows when each stage worked on the document. The bars are a picture of the table's numbers.
function Journey({ job }: { job: Job }) {
  const first = Date.parse(job.createTime);
  const start = job.stages.reduce((least, s) => s.startTime ? Math.min(least, Date.parse(s.startTime)) : least, Infinity);
  // A retry begins long after the document came: its journey is drawn from where it begins.
  const zero = job.run > 1 && Number.isFinite(start) ? start : first;
  const last = job.endTime ? Date.parse(job.endTime) : now.value;
  const span = Math.max(last - zero, 1);
  const part = (ms: number) => `${Math.min(100, Math.max(0, (ms / span) * 100)).toFixed(2)}%`;
  return (
    <section class="card" aria-labelledby="journey">
      <h2 id="journey">{t.document.journey}</h2>
      <div class="table-scroll" tabIndex={0}>
        <table class="journey">
          <thead><tr><th scope="col">{t.document.stage}</th><th scope="col" class="bars"><span class="hidden">{t.document.journeyNote}</span></th>
            <th scope="col" class="number">{t.document.worked}</th><th scope="col" class="number">{t.document.units}</th>
            <th scope="col" class="number">{t.document.busy}</th></tr></thead>
          <tbody>{stageOrder.map((name) => {
            const s = job.stages.find((x) => x.name === name);
            const from = s?.startTime ? Date.parse(s.startTime) - zero : NaN;
            const to = s?.endTime ? Date.parse(s.endTime) - zero : span;
            return (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="bars" aria-hidden="true">{s?.startTime && <div class="track">
                  <i class="wait" style={{ left: "0", width: part(from) }} />
                  <i class={`work ${s.endTime ? "" : "open"}`} style={{ left: part(from), width: `max(3px, ${part(Math.max(to - from, 0))})` }} />
                </div>}</td>
                <td class="number">{!s?.startTime ? (hasEnded(job) ? "–" : t.document.notYet)
                  : s.endTime ? formatSeconds(secondsBetween(s.startTime, s.endTime)) : t.document.now}</td>
                <td class="number">{s ? s.unitsDone : "–"}</td>
                <td class="number">{s ? formatSeconds(s.busySeconds) : "–"}</td>
              </tr>
            );
          })}</tbody>
        </table>
      </div>
      <p class="quiet small">{t.document.journeyNote}</p>
      {job.stages.some((s) => s.name === "index" && s.startTime) && <Chunks job={job} zero={zero} part={part} />}
    </section>
  );
}

// Chunks shows, once it is opened, when each chunk of pages was done: which of them kept the document.
function Chunks({ job, zero, part }: { job: Job; zero: number; part: (ms: number) => string }) {
  const [open, setOpen] = useState(false);
  const [chunks, setChunks] = useState<JobEvent[] | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    if (!open) return undefined;
    const abort = new AbortController();
    const load = async () => {
      const done: JobEvent[] = [];
      for (let token = "", more = true; more; more = token !== "") {
        const a = await api.events(job.id, token, abort.signal);
        done.push(...(a.events ?? []).filter((e) => e.type === "chunk_done" && e.run === job.run));
        token = a.nextPageToken;
      }
      setChunks(done);
    };
    load().catch((e: unknown) => { if (!abort.signal.aborted) setError((e as Error).message); });
    return () => abort.abort();
  }, [open, job.id, job.run, job.pagesDone, job.state]);
  return (
    <details class="chunks" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{t.document.chunks}</summary>
      {error && <Notice kind="error">{error}</Notice>}
      {open && chunks === null && !error && <p class="quiet">{t.loading}</p>}
      {chunks?.length === 0 && <p class="quiet">{t.document.noChunks}</p>}
      {chunks && chunks.length > 0 && <table class="journey">
        <thead><tr><th scope="col">{t.document.chunk}</th><th scope="col" class="bars"><span class="hidden">{t.document.chunkDone}</span></th>
          <th scope="col" class="number">{t.document.chunkDone}</th></tr></thead>
        <tbody>{chunks.map((e) => {
          const ms = Date.parse(e.time) - zero;
          return (
            <tr key={e.id}><th scope="row">{Number(e.attributes.unit ?? 0) + 1}</th>
              <td class="bars" aria-hidden="true"><div class="track"><i class="wait" style={{ left: "0", width: part(ms) }} />
                <i class="work" style={{ left: `min(${part(ms)}, 100% - 3px)`, width: "3px" }} /></div></td>
              <td class="number">{formatSeconds(Math.max(0, ms / 1000))}</td></tr>
          );
        })}</tbody>
      </table>}
    </details>
  );
}

function Failures({ job }: { job: Job }) {
  if (job.failures.length === 0) return null;
  return (
    <section class="card" aria-labelledby="failures">
      <h2 id="failures">{t.document.failures}</h2>
      {may("write") && hasEnded(job) && <p class="quiet small">{t.document.failuresText}</p>}
      <table>
        <thead><tr><th scope="col" class="number">{t.document.page}</th><th scope="col">{t.document.reason}</th><th scope="col">{t.document.code}</th></tr></thead>
        <tbody>{job.failures.slice(0, 500).map((f) => (
          <tr key={f.page}><td class="number"><a href={`/ui/jobs/${job.id}/pages/${f.page}`}>{f.page}</a></td>
            <td>{t.reasons[f.reason] ?? f.reason}</td><td><code>{f.code}</code></td></tr>
        ))}</tbody>
      </table>
    </section>
  );
}

function Findings({ job }: { job: Job }) {
  if (job.findings.length === 0) return null;
  return (
    <section class="card" aria-labelledby="findings">
      <h2 id="findings">{t.document.findings}</h2>
      <table>
        <thead><tr><th scope="col">{t.document.kind}</th><th scope="col" class="number">{t.document.count}</th>
          <th scope="col">{t.document.policy}</th><th scope="col">{t.document.detail}</th></tr></thead>
        <tbody>{job.findings.map((f) => (
          <tr key={f.kind + f.detail}><td>{t.findings[f.kind] ?? f.kind}</td><td class="number">{f.count}</td><td>{f.policy}</td><td>{f.detail}</td></tr>
        ))}</tbody>
      </table>
    </section>
  );
}

function Artifacts({ job }: { job: Job }) {
  const [list, setList] = useState<Artifact[]>([]);
  const [error, setError] = useState("");
  useEffect(() => {
    if (job.resultRun === 0) return undefined;
    const abort = new AbortController();
    api.artifacts(job.id, abort.signal).then((a) => setList(a.artifacts ?? []))
      .catch((e: unknown) => { if (!abort.signal.aborted) setError((e as Error).message); });
    return () => abort.abort();
  }, [job.id, job.resultRun, job.state]);
  return (
    <section class="card" aria-labelledby="artifacts">
      <h2 id="artifacts">{t.document.artifacts}</h2>
      {error && <Notice kind="error">{error}</Notice>}
      {list.length === 0 ? <p class="quiet">{job.endTime ? t.document.noArtifacts : t.document.noArtifactsYet}</p> : (
        <table class="artifacts">
          <thead><tr><th scope="col">{t.document.name}</th><th scope="col">{t.document.type}</th><th scope="col" class="number">{t.document.size}</th>
            <th scope="col"><span class="hidden">{t.document.download}</span></th></tr></thead>
          <tbody>{list.map((a) => (
            <tr key={a.name}><td class="file">{a.name}</td><td class="quiet">{a.contentType.split(";")[0]}</td><td class="number">{formatBytes(a.sizeBytes)}</td>
              <td class="number"><button type="button" class="small" onClick={() => {
                save(api.artifactPath(job.id, a.name), a.name);
              }}>{t.document.download}<span class="hidden"> {a.name}</span></button></td></tr>
          ))}</tbody>
        </table>
      )}
    </section>
  );
}

function Events({ job }: { job: Job }) {
  const [events, setEvents] = useState<JobEvent[]>([]);
  const [next, setNext] = useState("");
  const load = (token: string, abort?: AbortSignal) => api.events(job.id, token, abort).then((a) => {
    setEvents((before) => token ? [...before, ...(a.events ?? [])] : a.events ?? []);
    setNext(a.nextPageToken);
  }).catch(() => undefined); // the list stays as it was; the rest of the page says what is wrong
  useEffect(() => {
    const abort = new AbortController();
    void load("", abort.signal);
    return () => abort.abort();
  }, [job.id, job.state, job.run, job.pagesDone]);
  return (
    <section class="card" aria-labelledby="events">
      <h2 id="events">{t.document.events}</h2>
      <table class="events">
        <thead><tr><th scope="col">{t.document.time}</th><th scope="col">{t.document.event}</th><th scope="col">{t.document.stage}</th>
          <th scope="col">{t.document.details}</th></tr></thead>
        <tbody>{events.map((e) => (
          <tr key={e.id}><td class="time"><time dateTime={e.time} title={formatTime(e.time)}>{formatClock(e.time)}</time></td>
            <td>{t.events[e.type] ?? e.type}</td><td>{e.stage}</td>
            <td>{[e.page ? t.search.page(e.page) : "", e.code, ...Object.entries(e.attributes).map(([k, v]) => `${k} ${v}`)].filter(Boolean).join(" · ")}</td></tr>
        ))}</tbody>
      </table>
      {next && <p><button type="button" onClick={() => void load(next)}>{t.document.moreEvents}</button></p>}
    </section>
  );
}

function FactList({ job }: { job: Job }) {
  const d = job.document;
  const rows: [string, ComponentChildren][] = [
    [t.document.id, <code>{job.id}</code>], [t.document.created, formatTime(job.createTime)],
    [t.document.ended, job.endTime ? formatTime(job.endTime) : ""],
    [t.document.took, job.endTime && job.run === 1 ? formatSeconds(secondsBetween(job.createTime, job.endTime)) : ""],
    [t.document.size, formatBytes(job.sizeBytes)],
    [t.document.labels, Object.keys(job.labels).length ? <Labels labels={job.labels} /> : ""],
    [t.document.docTitle, d?.title ?? ""], [t.document.author, d?.author ?? ""], [t.document.producer, d?.producer ?? ""],
    [t.document.version, d?.pdfVersion ?? ""], [t.document.encrypted, d?.encrypted ? t.document.yes : ""],
    [t.document.tagged, d?.tagged ? t.document.yes : ""],
    [t.document.batch, job.batch ? <a href={`/ui/?filter=batch:${job.batch}`}><code>{job.batch}</code></a> : ""],
    [t.document.expires, job.expireTime ? formatTime(job.expireTime) : ""],
    [t.document.tries, Object.entries(job.failedTries).map(([k, v]) => `${k}: ${v}`).join(", ")],
    [t.document.sha, <code class="break">{job.sha256}</code>],
  ];
  return (
    <section class="card" aria-labelledby="facts">
      <h2 id="facts">{t.document.facts}</h2>
      <dl>{rows.filter(([, value]) => value !== "").map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
    </section>
  );
}

function Commands({ job }: { job: Job }) {
  const lines = [`inkstream get ${job.id}`];
  if (job.resultRun > 0) lines.push(`inkstream artifacts ${job.id} -d out`);
  if (["FAILED", "PARTIAL", "CANCELLED"].includes(job.state)) lines.push(`inkstream retry ${job.id}`);
  if (!hasEnded(job)) lines.push(`inkstream cancel ${job.id}`);
  lines.push(`curl ${location.origin}/v1/jobs/${job.id}`);
  return (
    <section class="card" aria-labelledby="commands">
      <h2 id="commands">{t.document.command}</h2>
      {lines.map((l) => <Copyable key={l} text={l} label={t.document.commandLabel} />)}
    </section>
  );
}
