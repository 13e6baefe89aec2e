// The table of documents, with the columns that this browser's user has chosen.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { hasEnded, type Job } from "./api";
import { formatAge, formatBytes, formatSeconds, formatTime, secondsBetween } from "./format";
import { keepSetting, loadSetting } from "./settings";
import { Bar, Labels, now, Pill } from "./widgets";
import { t } from "./texts";

// Column: its name is that in the store and its class; number aligns it to the right.
interface Column { name: string; title: string; number?: boolean; byDefault: boolean; cell: (job: Job) => ComponentChildren }

const columns: Column[] = [
  { name: "state", title: t.documents.state, byDefault: true, cell: (j) => <Pill state={j.state} /> },
  {
    name: "pages", title: t.documents.progress, byDefault: true, cell: (j) => <>
      {j.pageCount > 0 && <span class="number">{t.documents.pagesOf(j.pagesDone, j.pageCount)}</span>}
      {!hasEnded(j) && <Bar done={j.pagesDone} of={j.pageCount} label={t.documents.progress} />}
    </>,
  },
  { name: "outcomes", title: t.documents.outcome, byDefault: true, cell: (j) => <Outcomes outcomes={j.outcomes} /> },
  { name: "labels", title: t.documents.labelColumn, byDefault: true, cell: (j) => <Labels labels={j.labels} /> },
  {
    name: "batch", title: t.documents.batchColumn, byDefault: false,
    cell: (j) => j.batch && <a href={`/ui/?${new URLSearchParams({ filter: `batch:${j.batch}` })}`}>{j.batch}</a>,
  },
  { name: "size", title: t.documents.size, number: true, byDefault: true, cell: (j) => formatBytes(j.sizeBytes) },
  {
    name: "created", title: t.documents.created, number: true, byDefault: true,
    cell: (j) => <time dateTime={j.createTime} title={formatTime(j.createTime)}>{formatAge(j.createTime, now.value)}</time>,
  },
  {
    name: "took", title: t.documents.took, number: true, byDefault: true,
    cell: (j) => j.endTime ? formatSeconds(secondsBetween(j.createTime, j.endTime)) : "–",
  },
];

const storeName = "inkstream.columns";
const isNameList = (value: unknown): value is string[] => Array.isArray(value) && value.every((v) => typeof v === "string");
const shown = signal<ReadonlySet<string>>(new Set(loadSetting(storeName, isNameList) ?? columns.filter((c) => c.byDefault).map((c) => c.name)));

// ColumnChoice opens a list of the columns. Escape, and what is done elsewhere, closes it.
export function ColumnChoice() {
  const box = useRef<HTMLDetailsElement>(null);
  const close = () => { if (box.current) box.current.open = false; };
  useEffect(() => {
    const elsewhere = (e: Event) => { if (!box.current?.contains(e.target as Node)) close(); };
    document.addEventListener("pointerdown", elsewhere);
    document.addEventListener("focusin", elsewhere);
    return () => {
      document.removeEventListener("pointerdown", elsewhere);
      document.removeEventListener("focusin", elsewhere);
    };
  }, []);
  const toggle = (name: string) => {
    const next = new Set(shown.value);
    if (!next.delete(name)) next.add(name);
    shown.value = next;
    keepSetting(storeName, [...next]);
  };
  const leave = (e: KeyboardEvent) => {
    if (e.key !== "Escape") return;
    close();
    box.current?.querySelector("summary")?.focus();
  };
  return (
    <details class="column-choice" ref={box} onKeyDown={leave}>
      <summary class="button">{t.documents.columns}</summary>
      <div role="group" aria-label={t.documents.columns}>
        {columns.map((c) => <button key={c.name} type="button" name={c.name} aria-pressed={shown.value.has(c.name)}
          onClick={() => toggle(c.name)}>{c.title}</button>)}
      </div>
    </details>
  );
}

interface Choice { chosen: ReadonlySet<string>; setChosen: (c: ReadonlySet<string>) => void }

export function JobTable({ jobs, chosen, setChosen }: { jobs: Job[] } & Choice) {
  const all = jobs.every((j) => chosen.has(j.id));
  const wanted = columns.filter((c) => shown.value.has(c.name));
  return (
    <div class="table-scroll" tabIndex={0}>
      <table class="jobs">
        <caption class="hidden">{t.documents.table}</caption>
        <thead><tr>
          <th scope="col" class="check"><input type="checkbox" aria-label={t.documents.selectAll} checked={all}
            onChange={() => setChosen(new Set(all ? [] : jobs.map((j) => j.id)))} /></th>
          <th scope="col">{t.documents.file}</th>
          {wanted.map((c) => <th key={c.name} scope="col" class={c.number ? "number" : undefined}>{c.title}</th>)}
        </tr></thead>
        <tbody>{jobs.map((j) => <JobRow key={j.id} job={j} wanted={wanted} chosen={chosen} setChosen={setChosen} />)}</tbody>
      </table>
    </div>
  );
}

function JobRow({ job, wanted, chosen, setChosen }: { job: Job; wanted: Column[] } & Choice) {
  const isChosen = chosen.has(job.id);
  const toggle = () => {
    const next = new Set(chosen);
    if (isChosen) next.delete(job.id);
    else next.add(job.id);
    setChosen(next);
  };
  return (
    <tr aria-selected={isChosen} data-job={job.id}>
      <td class="check"><input type="checkbox" aria-label={t.documents.select(job.filename)} checked={isChosen} onChange={toggle} /></td>
      <td class="file"><a href={`/ui/jobs/${job.id}`}>{job.filename || job.id}</a>
        {job.error?.message && <span class="reason">{job.error.message}</span>}</td>
      {wanted.map((c) => <td key={c.name} class={`${c.name} ${c.number ? "number" : ""}`}>{c.cell(job)}</td>)}
    </tr>
  );
}

export function Outcomes({ outcomes }: { outcomes: Record<string, number> }) {
  return <>{Object.keys(t.outcomes).filter((o) => outcomes[o]).map((o) =>
    <span key={o} class={`outcome ${o}`}>{outcomes[o]} {t.outcomes[o]}</span>)}</>;
}
