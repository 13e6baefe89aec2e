// The dead letters: tasks that were given up, by stage and code; replayed or dropped one by one, or all of a group.
import { useEffect, useState } from "preact/hooks";
import { api, type DeadLetter, type DeadLetterGroup, may } from "./api";
import { formatAge, formatCount, formatTime } from "./format";
import { ask, Notice, now, poll, useTitle } from "./widgets";
import { t } from "./texts";

export function DeadLetters() {
  useTitle(t.dead.title);
  const [groups, setGroups] = useState<DeadLetterGroup[] | null>(null);
  const [truncated, setTruncated] = useState(false);
  const [note, setNote] = useState<{ kind: "error" | "info"; text: string } | null>(null);
  const [error, setError] = useState("");
  const [turn, setTurn] = useState(0);
  useEffect(() => poll(async (abort) => {
    const answer = await api.letterGroups(abort);
    setGroups(answer.groups ?? []);
    setTruncated(answer.truncated);
    return 5000;
  }, setError), [turn]);
  const act = async (verb: "retry" | "drop", body: object) => {
    try {
      const a = await api.letterBatch(verb, body);
      setNote({ kind: a.skipped ? "error" : "info", text: t.dead.did[verb](a.done, a.skipped) + (a.more ? t.dead.more : "") });
    } catch (e) { setNote({ kind: "error", text: (e as Error).message }); }
    setTurn((n) => n + 1);
  };
  return <>
    <h1>{t.dead.title}</h1>
    <p class="quiet">{t.dead.intro}</p>
    {note && <Notice kind={note.kind}>{note.text}</Notice>}
    {truncated && <Notice kind="info">{t.dead.truncated}</Notice>}
    {error && <Notice kind="error">{error}</Notice>}
    {groups === null && !error && <p class="quiet">{t.loading}</p>}
    {groups?.length === 0 && <p class="empty">{t.dead.none}</p>}
    {groups?.map((g) => <Group key={`${g.stage} ${g.code}`} group={g} act={act} turn={turn} />)}
  </>;
}

type Act = (verb: "retry" | "drop", body: object) => void;

function Group({ group: g, act, turn }: { group: DeadLetterGroup; act: Act; turn: number }) {
  const [open, setOpen] = useState(false);
  const count = Number(g.count), which = `${g.stage} ${g.code}`, all = { stage: g.stage, code: g.code };
  return (
    <section class="card" aria-label={which}>
      <div class="row">
        <h2>{g.stage} <code>{g.code}</code></h2><span class="pill failed">{formatCount(count)}</span>
        <span class="quiet small">{t.dead.span(formatAge(g.oldest, now.value), formatAge(g.newest, now.value))}</span>
        <span class="grow" />
        {may("write") && <>
          <button type="button" onClick={() => ask({
            title: t.dead.askRetry(count, which), text: t.dead.retryText, yes: t.dead.retry, act: () => act("retry", all),
          })}>{t.dead.retryAll}<span class="hidden"> {which}</span></button>
          <button type="button" class="danger" onClick={() => ask({
            title: t.dead.askDrop(count, which), text: t.dead.dropText, yes: t.dead.drop, act: () => act("drop", all),
          })}>{t.dead.dropAll}<span class="hidden"> {which}</span></button>
        </>}
      </div>
      <p class="small">{g.error}</p>
      <button type="button" class="small" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? t.dead.hide : t.dead.show}<span class="hidden"> {which}</span></button>
      {open && <Letters group={g} act={act} turn={turn} />}
    </section>
  );
}

function Letters({ group: g, act, turn }: { group: DeadLetterGroup; act: Act; turn: number }) {
  const [letters, setLetters] = useState<DeadLetter[]>([]);
  const [next, setNext] = useState("");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const ids = letters.filter((l) => chosen.has(l.id)).map((l) => l.id), which = `${g.stage} ${g.code}`;
  const toggle = (id: string) => setChosen((before) => {
    const changed = new Set(before);
    if (!changed.delete(id)) changed.add(id);
    return changed;
  });
  const load = (token: string, abort?: AbortSignal) => api.letters(g.stage, g.code, token, abort).then((a) => {
    setLetters((before) => token ? [...before, ...(a.deadLetters ?? [])] : a.deadLetters ?? []);
    setNext(a.nextPageToken);
  }).catch(() => undefined); // the list stays as it was
  useEffect(() => {
    const abort = new AbortController();
    void load("", abort.signal);
    return () => abort.abort();
  }, [g.count, turn]);
  return <>
    {ids.length > 0 && <div class="row selection" role="group" aria-label={t.documents.selected(ids.length)}>
      <strong role="status">{t.documents.selected(ids.length)}</strong>
      <button type="button" onClick={() => ask({
        title: t.dead.askRetry(ids.length, which), text: t.dead.retryText, yes: t.dead.retry, act: () => act("retry", { ids }),
      })}>{t.dead.retrySelected}</button>
      <button type="button" class="danger" onClick={() => ask({
        title: t.dead.askDrop(ids.length, which), text: t.dead.dropText, yes: t.dead.drop, act: () => act("drop", { ids }),
      })}>{t.dead.dropSelected}</button>
    </div>}
    <div class="table-scroll" tabIndex={0}><table>
      <thead><tr>{may("write") && <th scope="col"><input type="checkbox" aria-label={t.dead.selectAll} checked={letters.length > 0 && ids.length === letters.length}
        onChange={() => setChosen(new Set(ids.length === letters.length ? [] : letters.map((l) => l.id)))} /></th>}<th scope="col">{t.dead.time}</th><th scope="col">{t.dead.job}</th><th scope="col" class="number">{t.dead.attempts}</th>
        <th scope="col">{t.dead.payload}</th>{may("write") && <th scope="col"><span class="hidden">{t.dead.actions}</span></th>}</tr></thead>
      <tbody>{letters.map((l) => (
        <tr key={l.id}>
          {may("write") && <td><input type="checkbox" aria-label={t.dead.selectOne(formatTime(l.time))} checked={chosen.has(l.id)} onChange={() => toggle(l.id)} /></td>}
          <td class="time">{formatTime(l.time)}</td>
          <td><a href={`/ui/jobs/${l.job}`}><code>{l.job}</code></a></td>
          <td class="number">{l.attempts}</td>
          <td><code class="break">{l.payload}</code>{l.traceId && <span class="quiet small"> {t.dead.trace} <code>{l.traceId}</code></span>}</td>
          {may("write") && <td class="actions">
            <button type="button" class="small" onClick={() => act("retry", { ids: [l.id] })}>{t.dead.retry}<span class="hidden"> {l.id}</span></button>
            <button type="button" class="small danger" onClick={() => ask({
              title: t.dead.askDrop(1, `${g.stage} ${g.code}`), text: t.dead.dropText, yes: t.dead.drop, act: () => act("drop", { ids: [l.id] }),
            })}>{t.dead.drop}<span class="hidden"> {l.id}</span></button>
          </td>}
        </tr>
      ))}</tbody>
    </table></div>
    {next && <p><button type="button" onClick={() => void load(next)}>{t.documents.more}</button></p>}
  </>;
}
