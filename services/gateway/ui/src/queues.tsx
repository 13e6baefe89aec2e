// The queues: the five stages as a flow, each with what waits, what is in hand and how fast it goes.
import { useEffect, useState } from "preact/hooks";
import { api, type Job, type Stage } from "./api";
import { formatAge, formatCount, formatSeconds, formatTime } from "./format";
import { Bar, Notice, now, poll, useTitle } from "./widgets";
import { t } from "./texts";

export function Queues() {
  useTitle(t.queues.title);
  const [stages, setStages] = useState<Stage[]>([]);
  const [error, setError] = useState("");
  useEffect(() => poll(async (abort) => {
    try {
      const list = (await api.stages(abort)).stages ?? [];
      setStages(list);
      setError("");
    } catch (e) {
      if (!abort.aborted) setError((e as Error).message);
    }
    return 2000;
  }), []);
  return <>
    <h1>{t.queues.title}</h1>
    <p class="quiet">{t.queues.intro}</p>
    {error && <Notice kind="error">{error}</Notice>}
    <ol class="flow" aria-label={t.queues.flow}>{stages.map((s) => <StageCard key={s.name} stage={s} />)}</ol>
    <Slow />
    <Processes stages={stages} />
  </>;
}

function StageCard({ stage: s }: { stage: Stage }) {
  const waiting = Object.values(s.waiting).reduce((sum, n) => sum + Number(n), 0);
  const inHand = Number(s.inFlight), dead = Number(s.deadLetters);
  const state = waiting > 0 ? (s.etaSeconds > 600 || (s.rate === 0 && inHand === 0) ? "behind" : "busy") : inHand > 0 ? "busy" : "idle";
  const oldest = s.oldest ? Math.max(0, (Date.now() - Date.parse(s.oldest)) / 1000) : 0;
  return (
    <li class={`card stage ${state}`}>
      <div class="row"><h2>{s.name}</h2><span class={`pill ${state}`}>{t.queues[state]}</span></div>
      <p class="quiet small">{t.queues.stages[s.name]}</p>
      <p class="depth"><strong>{formatCount(waiting)}</strong> {t.queues.waiting}</p>
      <p class="quiet small lanes">{Object.entries(s.waiting).filter(([, n]) => Number(n) > 0).map(([lane, n]) =>
        `${t.queues.lanes[lane] ?? lane} ${formatCount(Number(n))}`).join(" · ") || "\u00a0"}</p>
      <Sparkline values={s.history?.rates ?? []} />
      <dl>
        <div><dt>{t.queues.inHand}</dt><dd>{formatCount(inHand)}</dd></div>
        <div><dt>{t.queues.rate}</dt><dd>{s.rate ? s.rate.toFixed(s.rate < 10 ? 2 : 0) : "0"}</dd></div>
        <div><dt>{t.queues.eta}</dt><dd>{s.etaSeconds ? formatSeconds(s.etaSeconds) : t.queues.none}</dd></div>
        <div><dt>{t.queues.oldest}</dt><dd>{s.oldest ? formatSeconds(oldest) : t.queues.none}</dd></div>
        <div><dt>{t.queues.replicas}</dt><dd>{s.replicas}</dd></div>
        <div class={dead ? "bad" : ""}><dt>{t.queues.dead}</dt><dd>{dead ? <a href="/ui/deadletters">{formatCount(dead)}</a> : "0"}</dd></div>
      </dl>
    </li>
  );
}

// Sparkline is the last hour; what this server has not seen of it is left blank.
function Sparkline({ values }: { values: number[] }) {
  const steps = 360, most = Math.max(...values, 0.01);
  const points = values.map((v, i) => `${(((steps - values.length + i) / (steps - 1)) * 200).toFixed(1)},${(38 - (v / most) * 34).toFixed(1)}`);
  return (
    <svg class="spark" viewBox="0 0 200 40" preserveAspectRatio="none" role="img" aria-label={t.queues.history}>
      <line x1="0" y1="39" x2="200" y2="39" />
      {points.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}

// Slow shows the documents that have been under way the longest.
function Slow() {
  const [jobs, setJobs] = useState<Job[] | null>(null);
  useEffect(() => poll(async (abort) => {
    setJobs((await api.list(new URLSearchParams({ state: "RUNNING", order_by: "create_time", page_size: "5" }), abort)).jobs ?? []);
    return 5000;
  }), []);
  if (!jobs) return null; // the stages say what is wrong
  return (
    <section class="card" aria-labelledby="slow">
      <h2 id="slow">{t.queues.slow}</h2>
      {jobs.length === 0 ? <p class="quiet">{t.queues.slowNone}</p> : <div class="table-scroll" tabIndex={0}><table>
        <thead><tr><th scope="col">{t.documents.file}</th><th scope="col">{t.documents.progress}</th><th scope="col" class="number">{t.documents.created}</th></tr></thead>
        <tbody>{jobs.map((j) => <tr key={j.id}>
          <td class="file"><a href={`/ui/jobs/${j.id}`}>{j.filename || j.id}</a></td>
          <td><span class="number">{t.documents.pagesOf(j.pagesDone, j.pageCount)}</span><Bar done={j.pagesDone} of={j.pageCount} label={t.documents.progress} /></td>
          <td class="number">{formatAge(j.createTime, now.value)}</td>
        </tr>)}</tbody>
      </table></div>}
    </section>
  );
}

function Processes({ stages }: { stages: Stage[] }) {
  const rows = stages.flatMap((s) => (s.processes ?? []).map((p) => ({ stage: s.name, ...p })));
  if (rows.length === 0) return null;
  return (
    <section class="card processes" aria-labelledby="processes">
      <h2 id="processes">{t.queues.processes}</h2>
      <div class="table-scroll" tabIndex={0}><table>
        <thead><tr><th scope="col">{t.document.stage}</th><th scope="col">{t.queues.host}</th><th scope="col">{t.admin.version}</th>
          <th scope="col">{t.queues.since}</th><th scope="col">{t.queues.walls}</th><th scope="col" class="number">{t.queues.inHandColumn}</th></tr></thead>
        <tbody>{rows.map((p) => <tr key={`${p.stage} ${p.host} ${p.pid}`}>
          <td>{p.stage}</td><td>{p.host} <span class="quiet small">{p.pid}</span></td><td>{p.version}</td>
          <td class="time">{formatTime(p.startTime)}</td>
          <td>{Object.entries(p.walls ?? {}).sort().map(([engine, walls]) => <div key={engine} class="small">{engine}: {walls}</div>)}</td>
          <td class="number">{p.inFlight}</td>
        </tr>)}</tbody>
      </table></div>
    </section>
  );
}
