// Findings: what is wrong with the server, or could be, and what to do about it, from what it says of itself.
import { useEffect, useState } from "preact/hooks";
import { api, type Features, type Stage } from "./api";
import { formatSeconds } from "./format";
import { Copyable, poll } from "./widgets";
import { t } from "./texts";

export interface Report {
  ready: boolean; units?: Record<string, string>; dependencies?: Record<string, { ok?: boolean; error?: string } | string>; info?: Record<string, string>;
}
interface Finding { name: string; status: "succeeded" | "partial" | "failed"; detail: string; fix?: string; link?: string }

const c = t.checks;
const maxClockDifference = 30; // seconds

function stageFindings(stages: Stage[]): Finding[] {
  const list: Finding[] = [];
  if (!stages.some((s) => s.processes?.length || s.replicas)) return list; // those who do not run the server are not told
  for (const s of stages) {
    list.push(s.replicas > 0 ? { name: c.stage.name(s.name), status: "succeeded", detail: c.stage.ok(s.replicas) }
      : { name: c.stage.name(s.name), status: "failed", detail: c.stage.none, fix: c.stage.fix });
  }
  const processes = stages.flatMap((s) => s.processes ?? []);
  const versions = [...new Set(processes.map((p) => p.version))].sort();
  if (versions.length === 1) list.push({ name: c.versions.name, status: "succeeded", detail: c.versions.ok(versions[0]!) });
  if (versions.length > 1) list.push({ name: c.versions.name, status: "partial", detail: c.versions.differ(versions.join(", ")), fix: c.versions.fix });
  const walls = new Map<string, Set<string>>();
  for (const p of processes) for (const [engine, found] of Object.entries(p.walls ?? {})) walls.set(engine, (walls.get(engine) ?? new Set()).add(found));
  for (const [engine, found] of [...walls].sort()) {
    const lacking = [...found].some((f) => f.startsWith("missing"));
    list.push({ name: c.walls.name(engine), status: lacking ? "partial" : "succeeded", detail: [...found].join("; "), fix: lacking ? c.walls.fix : undefined });
  }
  const dead = stages.reduce((sum, s) => sum + Number(s.deadLetters), 0);
  list.push(dead ? { name: c.dead.name, status: "partial", detail: c.dead.some(dead), fix: c.dead.fix, link: "/ui/deadletters" }
    : { name: c.dead.name, status: "succeeded", detail: c.dead.ok });
  return list;
}

function serverFindings(report: Report, features: Features, clock: number): Finding[] {
  const list: Finding[] = [report.ready ? { name: c.ready.name, status: "succeeded", detail: c.ready.ok }
    : { name: c.ready.name, status: "failed", detail: c.ready.wrong, fix: c.ready.fix }];
  for (const [name, d] of Object.entries(report.dependencies ?? {}).sort()) {
    const error = typeof d === "string" ? (d === "ok" ? "" : d) : d.error ?? (d.ok === false ? c.ready.wrong : "");
    if (error) list.push({ name: c.depends.name(name), status: "failed", detail: error, fix: c.depends.fix });
  }
  list.push(!features.durability || features.durability === "full"
    ? { name: c.durability.name, status: "succeeded", detail: c.durability.ok }
    : { name: c.durability.name, status: "partial", detail: c.durability.weak(features.durability), fix: c.durability.fix });
  list.push(features.auth === "none" ? { name: c.open.name, status: "partial", detail: c.open.open, fix: c.open.fix }
    : { name: c.open.name, status: "succeeded", detail: c.open.ok });
  list.push(clock > maxClockDifference ? { name: c.clock.name, status: "partial", detail: c.clock.off(formatSeconds(clock)), fix: c.clock.fix }
    : { name: c.clock.name, status: "succeeded", detail: c.clock.ok });
  return list;
}

const grave = { failed: 0, partial: 1, succeeded: 2 };
const words = { succeeded: t.admin.passed, partial: t.admin.warning, failed: t.admin.failing };

export function Findings({ report, features, clock }: { report: Report; features: Features; clock: number }) {
  const [stages, setStages] = useState<Stage[]>([]);
  useEffect(() => poll(async (abort) => {
    setStages((await api.stages(abort)).stages ?? []);
    return 10000;
  }), []);
  const list = [...serverFindings(report, features, clock), ...stageFindings(stages)].sort((a, b) => grave[a.status] - grave[b.status]);
  return (
    <section class="card" aria-labelledby="checks">
      <h2 id="checks">{t.admin.checks}</h2>
      <div class="table-scroll" tabIndex={0}><table class="findings">
        <thead><tr><th scope="col">{t.admin.check}</th><th scope="col"><span class="hidden">{t.documents.state}</span></th><th scope="col">{t.admin.finding}</th></tr></thead>
        <tbody>{list.map((f) => <tr key={f.name}>
          <th scope="row">{f.name}</th><td><span class={`pill ${f.status}`}>{words[f.status]}</span></td>
          <td>{f.detail}{f.fix && <span class="fix">{t.admin.todo}: {f.link ? <a href={f.link}>{f.fix}</a> : f.fix}</span>}</td>
        </tr>)}</tbody>
      </table></div>
      <p class="quiet small">{t.admin.checksNote}</p>
      <Copyable text="inkstream doctor" label={t.document.commandLabel} />
    </section>
  );
}
