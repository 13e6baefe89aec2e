// The documents: sending them, and the list of them, whose filter stands in the address.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { api, ApiError, caller, type Caller, type Counts, hasEnded, type Job, may, needsPassword, onJobChange } from "./api";
import { address, go, setFilter, setQuery } from "./router";
import { parseFilter, states, toJSON, toQuery, withCode, withState } from "./filter";
import { formatBytes, formatCount } from "./format";
import { ColumnChoice, JobTable } from "./jobtable";
import { SavedViews } from "./views";
import { addUploads, clearUploads, filesOfDrop, isPDFName, isUnderWay, resumeUploads, type Upload, uploads, type UploadOptions } from "./upload";
import { ask, Bar, Notice, Pill, poll, SearchLine, typing, useTitle } from "./widgets";
import { t } from "./texts";

const pageSize = 50, maxShown = 250; // what is beyond is on another page: each row costs elements
const options = signal<UploadOptions>({});
const uploadNote = signal("");

export function Documents() {
  useTitle(t.documents.title);
  return <>
    <div class="row heading"><h1>{t.documents.title}</h1></div>
    {may("write") && <Sender />}
    <UploadList />
    <List />
  </>;
}

function take(files: File[], fromFolder: boolean) {
  const wanted = fromFolder ? files.filter((f) => isPDFName(f.name)) : files;
  uploadNote.value = wanted.length === 0 ? t.upload.noPDF : "";
  if (wanted.length > 0) addUploads(wanted, options.value);
}

function Sender() {
  const [over, setOver] = useState(false);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  // A layout effect, so that a file which is dropped as soon as the page shows is taken.
  useLayoutEffect(() => {
    folder.current?.setAttribute("webkitdirectory", "");
    let depth = 0; // dragenter and dragleave come for every element that is crossed
    const enter = (e: DragEvent) => { if (e.dataTransfer?.types.includes("Files")) { depth++; setOver(true); } };
    const leave = () => { if (depth > 0 && --depth === 0) setOver(false); };
    const overNow = (e: DragEvent) => { if (e.dataTransfer?.types.includes("Files")) e.preventDefault(); };
    const drop = (e: DragEvent) => {
      depth = 0;
      setOver(false);
      if (!e.dataTransfer?.types.includes("Files")) return;
      e.preventDefault();
      void filesOfDrop(e.dataTransfer).then((f) => take(f, false));
    };
    const listeners: [string, (e: DragEvent) => void][] = [["dragenter", enter], ["dragleave", leave], ["dragover", overNow], ["drop", drop]];
    for (const [name, f] of listeners) document.addEventListener(name, f as EventListener);
    return () => { for (const [name, f] of listeners) document.removeEventListener(name, f as EventListener); };
  }, []);
  const chosen = (fromFolder: boolean) => (e: Event) => {
    const input = e.currentTarget as HTMLInputElement;
    take(Array.from(input.files ?? []), fromFolder);
    input.value = "";
  };
  return (
    <section class={`sender ${over ? "over" : ""}`} aria-label={t.documents.drop}>
      <div class="row">
        <svg width="28" height="28" viewBox="0 0 24 24" aria-hidden="true"><path d="M12 16V4m0 0 4.5 4.5M12 4 7.5 8.5M4 15v3.5A1.5 1.5 0 0 0 5.5 20h13a1.5 1.5 0 0 0 1.5-1.5V15" /></svg>
        <strong>{over ? t.documents.dropNow : t.documents.drop}</strong>
        <span class="grow" />
        <button type="button" class="primary" onClick={() => files.current?.click()}>{t.documents.files}</button>
        <button type="button" onClick={() => folder.current?.click()}>{t.documents.folder}</button>
        <input ref={files} id="files" type="file" multiple accept="application/pdf,.pdf" hidden onChange={chosen(false)} />
        <input ref={folder} id="folder" type="file" multiple hidden onChange={chosen(true)} />
      </div>
      <details>
        <summary>{t.documents.options}</summary>
        <OptionFields />
      </details>
      {uploadNote.value && <Notice kind="info">{uploadNote.value}</Notice>}
    </section>
  );
}

function OptionFields() {
  const set = (name: string) => (e: Event) => {
    options.value = { ...options.value, [name]: (e.currentTarget as HTMLInputElement).value.trim() };
  };
  const field = (name: string, text: string, hint: string) => (
    <label class="field">{text}
      <input name={name} placeholder={hint} autocomplete="off" spellcheck={false} value={options.value[name] ?? ""} onInput={set(name)} />
    </label>
  );
  return (
    <div class="fields">
      {field("languages", t.documents.languages, t.documents.languagesHint)}
      <label class="field">{t.documents.ocr}
        <select value={options.value.ocr ?? ""} onChange={(e) => { options.value = { ...options.value, ocr: e.currentTarget.value }; }}>
          {Object.entries(t.documents.ocrChoices).map(([value, text]) => <option key={value} value={value}>{text}</option>)}
        </select>
      </label>
      {field("pages", t.documents.pages, t.documents.pagesHint)}
      {field("labels", t.documents.labels, t.documents.labelsHint)}
      <label class="field">{t.documents.password}
        <input type="password" name="password" placeholder={t.documents.passwordHint} autocomplete="off" value={options.value.password ?? ""}
          onInput={set("password")} />
      </label>
    </div>
  );
}

const maxRows = 200; // of uploads: each costs elements

// uploadRows returns the uploads that are shown: where there are too many, those first for which something is to be seen.
function uploadRows(all: Upload[]): Upload[] {
  if (all.length <= maxRows) return all;
  const rank = (u: Upload) => {
    if (u.phase.value === "sending") return 0;
    if (u.phase.value === "waiting") return 2;
    return u.job.value?.state === "SUCCEEDED" ? 4 : u.id && !(u.job.value && hasEnded(u.job.value)) ? 3 : 1;
  };
  const first = new Set(all.map((u, i) => ({ u, i, rank: rank(u) })).sort((a, b) => a.rank - b.rank || a.i - b.i).slice(0, maxRows).map((r) => r.u));
  return all.filter((u) => first.has(u));
}

function UploadList() {
  const all = uploads.value;
  if (all.length === 0) return null;
  const ended = all.filter((u) => !isUnderWay(u) && (!u.id || (u.job.value && hasEnded(u.job.value))));
  const bad = ended.filter((u) => u.job.value?.state !== "SUCCEEDED").length;
  const resumable = all.filter((u) => u.phase.value === "stopped");
  const rows = uploadRows(all);
  return (
    <section class="card uploads" aria-labelledby="uploads-title">
      <div class="row"><h2 id="uploads-title">{t.upload.title}</h2>
        <span class="quiet" role="status">{t.upload.summary(ended.length, all.length, bad)}</span><span class="grow" />
        {resumable.length > 1 && <button type="button" class="small" onClick={() => resumeUploads(resumable)}>{t.upload.startAll(resumable.length)}</button>}
        {all.some((u) => !isUnderWay(u)) && <button type="button" class="small" onClick={clearUploads}>{t.upload.clear}</button>}
      </div>
      <ul>{rows.map((u) => <UploadRow key={u.key} upload={u} />)}</ul>
      {rows.length < all.length && <p class="quiet small">{t.upload.others(all.length - rows.length)}</p>}
    </section>
  );
}

function PasswordForm({ upload: u }: { upload: Upload }) {
  const [password, setPassword] = useState("");
  return (
    <form class="row" onSubmit={(e) => { e.preventDefault(); u.unlock(password); }}>
      <input type="password" required autocomplete="off" aria-label={t.upload.passwordOf(u.name)} placeholder={t.documents.password} value={password}
        onInput={(e) => setPassword(e.currentTarget.value)} />
      <button class="small">{t.upload.unlock}<span class="hidden"> {u.name}</span></button>
    </form>
  );
}

function UploadRow({ upload: u }: { upload: Upload }) {
  const phase = u.phase.value, job = u.job.value;
  const under = isUnderWay(u);
  const refusal = phase === "refused" || phase === "stopped" ? u.reason.value : job?.error?.message ?? "";
  return (
    <li>
      <span class="name"><bdi>{job ? <a href={`/ui/jobs/${job.id}`}>{job.filename || u.name}</a> : u.name}</bdi></span>
      <span class="quiet number">{under ? `${formatBytes(u.sent.value)} / ` : ""}{formatBytes(u.size)}</span>
      {under && <Bar done={u.sent.value} of={u.size} label={t.upload.bytes(u.name)} />}
      {!under && job && !hasEnded(job) && <Bar done={job.pagesDone} of={job.pageCount} label={t.documents.progress} />}
      {!under && (!job || hasEnded(job)) && <span />}
      <span class="phase">
        {job ? <Pill state={job.state} /> : <span class={`pill ${phase}`}>{t.upload[phase as "waiting"]}</span>}
        {refusal && <span class="reason">{refusal}</span>}
        {needsPassword(job) && <PasswordForm upload={u} />}
        {phase === "sending" && u.reason.value && <span class="quiet">{u.reason.value}</span>}
        {job?.duplicateOf && <span class="quiet">{t.upload.duplicate}</span>}
      </span>
      {under && <button type="button" class="small" onClick={u.stop}>{t.upload.stop}<span class="hidden"> {u.name}</span></button>}
      {phase === "stopped" &&
        <button type="button" class="small" onClick={u.start}>{t.upload.start}<span class="hidden"> {u.name}</span></button>}
    </li>
  );
}

// left is the list as it was when it was last seen: it is there at once when the user comes back from a document.
let left: { who: Caller | null; line: string; from: string; jobs: Job[]; shown: number; next: string } | null = null;

function List() {
  const line = address.value.query.get("filter") ?? "";
  const from = address.value.query.get("from") ?? ""; // where this page of it begins
  const [old] = useState(() => left?.who === caller.value && left?.line === line && left.from === from ? left : null);
  const [jobs, setJobs] = useState<Job[] | null>(old?.jobs ?? null);
  const [shown, setShown] = useState(old?.shown ?? pageSize);
  const [next, setNext] = useState(old?.next ?? ""); // where the list goes on
  const [error, setError] = useState("");
  const [note, setNote] = useState<{ kind: "error" | "info"; text: string } | null>(null);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [counts, setCounts] = useState<Counts | null>(null);
  const [paused, setPaused] = useState(false);
  const [turn, setTurn] = useState(0);
  const accepted = uploads.value.filter((u) => u.phase.value === "accepted").length;

  const first = useRef(true);
  useEffect(() => {
    if (!first.current) setShown(pageSize);
    first.current = false;
    setChosen(new Set());
    setNote(null);
  }, [line, from]);
  useEffect(() => { left = jobs && { who: caller.value, line, from, jobs, shown, next }; }, [jobs, shown, next]);
  useEffect(() => {
    if (paused) return undefined;
    return poll(async (abort) => {
      const query = toQuery(parseFilter(line));
      query.set("page_size", String(shown));
      if (from) query.set("page_token", from);
      // Beside the list, so that a look that the next change breaks off has the numbers too; the list says what is wrong.
      const counted = api.count(allStates(line), abort).then(setCounts).catch(() => undefined);
      try {
        const answer = await api.list(query, abort);
        const list = answer.jobs ?? [];
        setJobs(list);
        setNext(answer.nextPageToken);
        await counted;
        setError("");
        // What was just sent is in the list a moment later. Ids grow with time, so that it is the first.
        const awaited = !from && !line && uploads.peek().some((u) => u.id > (list[0]?.id ?? "") && u.job.peek()?.state !== "DELETED");
        return awaited ? 1500 : 30000; // the stream tells of what changes
      } catch (e) {
        if (!abort.aborted) setError((e as Error).message);
        throw e;
      }
    });
  }, [line, from, shown, paused, turn, accepted]);

  useEffect(() => {
    if (paused) return undefined;
    let timer = 0;
    // Many changes at once are one look, and looks are no closer than a second and a half.
    const leave = onJobChange(() => { timer ||= window.setTimeout(() => { timer = 0; setTurn((n) => n + 1); }, 1500); });
    return () => { leave(); clearTimeout(timer); };
  }, [paused]);

  const visible = jobs ?? [];
  const selected = visible.filter((j) => chosen.has(j.id));
  const act = async (name: string, each: (id: string) => Promise<unknown>) => {
    let done = 0;
    const reasons = new Set<string>();
    for (const j of selected) {
      try {
        await each(j.id);
        done++;
      } catch (e) { reasons.add((e as ApiError).message); }
    }
    const failed = selected.length - done;
    setNote({ kind: failed ? "error" : "info", text: t.documents.did(name, done, failed) + [...reasons].join("; ") });
    setChosen(new Set());
    setTurn((n) => n + 1);
  };
  useListKeys(visible, chosen, setChosen, setPaused);

  return (
    <section aria-label={t.documents.table}>
      <FilterBar line={line} counts={counts} paused={paused} setPaused={setPaused} />
      {error && <Notice kind="error">{error}</Notice>}
      {note && <Notice kind={note.kind}>{note.text}</Notice>}
      {selected.length > 0 && <SelectionBar jobs={selected} act={act} />}
      {selected.length > 0 && selected.length === visible.length && (next || from) &&
        <AllMatching key={line} line={line} done={(text, failed) => { setNote({ kind: failed ? "error" : "info", text }); setTurn((n) => n + 1); }} />}
      {jobs === null && !error && <p class="quiet">{t.loading}</p>}
      {jobs?.length === 0 && <p class="empty">{line ? t.documents.none : t.documents.empty}</p>}
      {visible.length > 0 && <JobTable jobs={visible} chosen={chosen} setChosen={setChosen} />}
      <div class="row">
        {from && <button type="button" onClick={() => setQuery({ from: "" }, false)}>{t.documents.newest}</button>}
        {next && shown < maxShown && <button type="button" onClick={() => setShown(shown + pageSize * 2)}>{t.documents.more}</button>}
        {next && shown >= maxShown && <button type="button" onClick={() => { setQuery({ from: next }, false); scrollTo(0, 0); }}>{t.documents.older}</button>}
      </div>
    </section>
  );
}

// allStates is the filter of a line but for its states, for the numbers beside them.
function allStates(line: string): URLSearchParams {
  const q = toQuery(parseFilter(line));
  q.delete("state");
  return q;
}

// AllMatching does something to every document of the filter, beyond those that are shown. The number is asked for
// first, and the work is done a thousand at a time, so that it can be followed.
function AllMatching({ line, done }: { line: string; done: (text: string, failed: boolean) => void }) {
  const [progress, setProgress] = useState(0);
  const [busy, setBusy] = useState(false);
  // The API wants to be told which; without a filter those are meant that there are now.
  const [filter] = useState(() => line.trim() ? toJSON(parseFilter(line)) : { createBefore: new Date().toISOString() });
  const begin = async (verb: "cancel" | "retry" | "delete", name: string) => {
    try {
      const dry = await api.batch(verb, { filter, dryRun: true });
      ask({
        title: t.documents.askAll(name, dry.done), text: t.documents.allText(dry.done, dry.skipped), yes: name,
        act: () => { void run(verb, name); },
      });
    } catch (e) { done((e as Error).message, true); }
  };
  const run = async (verb: string, name: string) => {
    setBusy(true);
    let did = 0, skipped = 0;
    try {
      for (let token = "", first = true; first || token; first = false) {
        const a = await api.batch(verb, { filter, pageSize: 1000, pageToken: token });
        did += a.done;
        skipped += a.skipped;
        token = a.nextPageToken;
        setProgress(did);
      }
      done(t.documents.didAll(name, did, skipped), false);
    } catch (e) { done(`${t.documents.didAll(name, did, skipped)} ${(e as Error).message}`, true); }
    setBusy(false);
  };
  if (!may("write")) return null;
  return (
    <div class="row all-matching" role="group" aria-label={t.documents.allMatching}>
      <span role="status">{busy ? t.documents.doing(progress) : t.documents.allMatching}</span>
      <button type="button" class="small" disabled={busy} onClick={() => void begin("retry", t.documents.retry)}>{t.documents.retryMatching}</button>
      <button type="button" class="small" disabled={busy} onClick={() => void begin("cancel", t.documents.cancel)}>{t.documents.cancelMatching}</button>
      <button type="button" class="small danger" disabled={busy} onClick={() => void begin("delete", t.documents.remove)}>{t.documents.removeMatching}</button>
    </div>
  );
}

function FilterBar({ line, counts, paused, setPaused }: { line: string; counts: Counts | null; paused: boolean; setPaused: (p: boolean) => void }) {
  const { state: active, wrong } = parseFilter(line);
  return (
    <div class="filter">
      <SearchLine id="filter" label={t.documents.filter} line={line} placeholder={t.documents.filterHint}
        submit={setFilter} clear={() => setFilter("")} />
      {wrong && <Notice kind="error">{t.documents.noSuch(wrong)}</Notice>}
      <SavedViews line={line} />
      <div class="row chips" role="group" aria-label={t.documents.state}>
        <button type="button" aria-pressed={active.length === 0} onClick={() => setFilter(withState(line, ""))}>{t.documents.all}</button>
        {states.map((s) => (
          <button key={s} type="button" aria-pressed={active.includes(s)} onClick={() => setFilter(withState(line, s))}>
            {t.states[s.toUpperCase()]} {counts && Number(counts.states[s.toUpperCase()] ?? 0) > 0 &&
              <span class="quiet number">&nbsp;{formatCount(Number(counts.states[s.toUpperCase()]))}</span>}
          </button>
        ))}
        {counts && Object.entries(counts.codes).sort((a, b) => Number(b[1]) - Number(a[1])).slice(0, 5).map(([code, k]) => (
          <button key={code} type="button" class="small" aria-pressed={parseFilter(line).code === code}
            onClick={() => setFilter(withCode(line, parseFilter(line).code === code ? "" : code))}>
            <code>{code}</code>&nbsp;<span class="quiet number">{formatCount(Number(k))}</span></button>
        ))}
        <span class="row list-tools">
          <ColumnChoice />
          <button type="button" aria-pressed={paused} title={t.documents.live} onClick={() => setPaused(!paused)}>
            {paused ? t.documents.resume : t.documents.pause}
          </button>
        </span>
      </div>
    </div>
  );
}

function SelectionBar({ jobs, act }: { jobs: Job[]; act: (name: string, each: (id: string) => Promise<unknown>) => void }) {
  if (!may("write")) return null;
  return (
    <div class="row selection" role="group" aria-label={t.documents.selectedBar}>
      <strong role="status">{t.documents.selected(jobs.length)}</strong>
      <button type="button" onClick={() => act(t.documents.retry, (id) => api.retry(id))}>{t.documents.retry}</button>
      <button type="button" onClick={() => ask({
        title: t.documents.askCancel(jobs.length), text: t.documents.cancelText, yes: t.documents.cancel,
        act: () => act(t.documents.cancel, api.cancel),
      })}>{t.documents.cancel}</button>
      <button type="button" class="danger" onClick={() => ask({
        title: t.documents.askRemove(jobs.length), text: t.documents.removeText, yes: t.documents.remove,
        act: () => act(t.documents.remove, api.remove),
      })}>{t.documents.remove}</button>
    </div>
  );
}

// useListKeys moves through the rows: j and k, x selects, Enter opens by the link that has the focus, / goes to the
// filter, p pauses.
function useListKeys(jobs: Job[], chosen: ReadonlySet<string>, setChosen: (c: ReadonlySet<string>) => void,
  setPaused: (change: (p: boolean) => boolean) => void) {
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.key === "Escape" && document.activeElement?.id === "filter") (document.activeElement as HTMLElement).blur();
      if (typing(e) && !(e.target as HTMLElement).matches("input[type=checkbox]")) return;
      const rows = Array.from(document.querySelectorAll<HTMLElement>("tr[data-job]"));
      const at = rows.findIndex((r) => r.contains(document.activeElement));
      const id = rows[at]?.dataset.job ?? "";
      switch (e.key) {
        case "j": rows[Math.min(at + 1, rows.length - 1)]?.querySelector("a")?.focus(); break;
        case "k": rows[Math.max(at - 1, 0)]?.querySelector("a")?.focus(); break;
        case "x": {
          if (!id) return;
          const next = new Set(chosen);
          if (!next.delete(id)) next.add(id);
          setChosen(next);
          break;
        }
        case "/": document.getElementById("filter")?.focus(); break;
        case "p": setPaused((p) => !p); break;
        case "Enter": if (id && !(document.activeElement instanceof HTMLAnchorElement)) go(`/jobs/${id}`); return;
        default: return;
      }
      e.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [jobs, chosen]);
}
