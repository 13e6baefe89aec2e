// The batches: the documents that were sent by one request, and how they stand.
import { useEffect, useState } from "preact/hooks";
import { api, type BatchSummary, finalStates } from "./api";
import { states } from "./filter";
import { formatAge, formatCount, formatTime } from "./format";
import { Notice, now, poll, useTitle } from "./widgets";
import { t } from "./texts";

export function Batches() {
  useTitle(t.batches.title);
  const [list, setList] = useState<BatchSummary[] | null>(null);
  const [next, setNext] = useState<string | null>(null); // of the last batch in the list
  const [error, setError] = useState("");
  useEffect(() => poll(async (abort) => {
    try {
      const answer = await api.batches("", abort), newest = answer.batches ?? [];
      setList((old) => [...newest, ...(old ?? []).filter((b) => newest.length > 0 && b.id < newest[newest.length - 1]!.id)]);
      setNext((old) => old ?? answer.nextPageToken);
      setError("");
      return newest.every((b) => b.done) ? 10000 : 3000;
    } catch (e) {
      if (!abort.aborted) setError((e as Error).message);
      throw e;
    }
  }), []);
  const more = () => {
    api.batches(next ?? "").then((a) => { setList((old) => [...(old ?? []), ...(a.batches ?? [])]); setNext(a.nextPageToken); })
      .catch((e: unknown) => setError((e as Error).message));
  };
  return <>
    <h1>{t.batches.title}</h1>
    <p class="quiet">{t.batches.intro}</p>
    {error && <Notice kind="error">{error}</Notice>}
    {list === null && !error && <p class="quiet">{t.loading}</p>}
    {list?.length === 0 && <p class="empty">{t.batches.none}</p>}
    {list && list.length > 0 && <div class="table-scroll card" tabIndex={0}><table class="batches">
      <caption class="hidden">{t.batches.table}</caption>
      <thead><tr><th scope="col">{t.batches.batch}</th><th scope="col">{t.batches.progress}</th><th scope="col" class="number">{t.batches.documents}</th>
        <th scope="col" class="number">{t.batches.pages}</th><th scope="col" class="number">{t.batches.sent}</th></tr></thead>
      <tbody>{list.map((b) => <Row key={b.id} batch={b} />)}</tbody>
    </table></div>}
    {next && <p><button type="button" onClick={more}>{t.batches.more}</button></p>}
  </>;
}

function Row({ batch: b }: { batch: BatchSummary }) {
  const total = Number(b.jobCount);
  const ended = Object.entries(b.states).reduce((sum, [state, n]) => sum + (finalStates.includes(state) ? Number(n) : 0), 0);
  const filter = (more: string) => `/ui/?filter=${encodeURIComponent(`batch:${b.id}${more}`)}`;
  const count = (state: string) => Number(b.states[state.toUpperCase()] ?? 0);
  const present = states.filter((s) => count(s) > 0);
  return (
    <tr data-batch={b.id}>
      <th scope="row"><a href={filter("")}><code>{b.id}</code></a></th>
      <td class="progress">
        <div class="segments" role="img" aria-label={t.batches.ended(ended, total)}>{present.map((s) =>
          <i key={s} class={s} style={{ width: `${(100 * count(s)) / total}%` }} />)}</div>
        <span class="row">{present.map((s) => <a key={s} class={`pill ${s}`} href={filter(` state:${s}`)}>
          {formatCount(count(s))} {t.states[s.toUpperCase()] ?? s}</a>)}</span>
      </td>
      <td class="number count">{formatCount(total)}</td>
      <td class="number count">{formatCount(Number(b.pageCount))}</td>
      <td class="number"><time dateTime={b.createTime} title={formatTime(b.createTime)}>{formatAge(b.createTime, now.value)}</time></td>
    </tr>
  );
}
