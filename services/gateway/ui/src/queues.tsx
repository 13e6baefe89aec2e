// The queues: the five stages as a flow, each with what waits, what is in hand and how fast it goes.
import { useEffect, useState } from "preact/hooks";
import { api, type Stage } from "./api";
import { formatCount, formatSeconds } from "./format";
import { Notice, poll, useTitle } from "./widgets";
import { t } from "./texts";

const kept = 60; // samples of the rate

export function Queues() {
  useTitle(t.queues.title);
  const [stages, setStages] = useState<Stage[]>([]);
  const [history, setHistory] = useState<Record<string, number[]>>({});
  const [error, setError] = useState("");
  useEffect(() => poll(async (abort) => {
    try {
      const list = (await api.stages(abort)).stages ?? [];
      setStages(list);
      setHistory((h) => Object.fromEntries(list.map((s) => [s.name, [...(h[s.name] ?? []), s.rate].slice(-kept)])));
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
    <ol class="flow" aria-label={t.queues.flow}>{stages.map((s) => <StageCard key={s.name} stage={s} rates={history[s.name] ?? []} />)}</ol>
  </>;
}

function StageCard({ stage: s, rates }: { stage: Stage; rates: number[] }) {
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
      <Sparkline values={rates} />
      <dl>
        <div><dt>{t.queues.inHand}</dt><dd>{formatCount(inHand)}</dd></div>
        <div><dt>{t.queues.rate}</dt><dd>{s.rate ? s.rate.toFixed(s.rate < 10 ? 2 : 0) : "0"}</dd></div>
        <div><dt>{t.queues.eta}</dt><dd>{s.etaSeconds ? formatSeconds(s.etaSeconds) : t.queues.none}</dd></div>
        <div><dt>{t.queues.oldest}</dt><dd>{s.oldest ? formatSeconds(oldest) : t.queues.none}</dd></div>
        <div><dt>{t.queues.replicas}</dt><dd>{s.replicas}</dd></div>
        <div class={dead ? "bad" : ""}><dt>{t.queues.dead}</dt><dd>{formatCount(dead)}</dd></div>
      </dl>
    </li>
  );
}

function Sparkline({ values }: { values: number[] }) {
  const most = Math.max(...values, 0.01);
  const points = values.map((v, i) => `${((i / (kept - 1)) * 200).toFixed(1)},${(38 - (v / most) * 34).toFixed(1)}`);
  return (
    <svg class="spark" viewBox="0 0 200 40" preserveAspectRatio="none" role="img" aria-label={t.queues.history}>
      <line x1="0" y1="39" x2="200" y2="39" />
      {points.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}
