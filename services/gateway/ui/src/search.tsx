// Search: pages that match, each with a piece of its text, and the way to the place.
import { useEffect, useState } from "preact/hooks";
import { api, type Hit } from "./api";
import { address, setQuery } from "./router";
import { formatAge } from "./format";
import { Notice, now, useTitle } from "./widgets";
import { t } from "./texts";

export function SearchPage() {
  useTitle(t.search.title);
  const q = address.value.query.get("q") ?? "";
  const job = address.value.query.get("job") ?? "";
  const [text, setText] = useState(q);
  const [hits, setHits] = useState<Hit[] | null>(null);
  const [next, setNext] = useState("");
  const [error, setError] = useState("");
  const query = (token: string) => {
    const p = new URLSearchParams({ q, page_size: "20" });
    if (job) p.set("job", job);
    if (token) p.set("page_token", token);
    return p;
  };
  useEffect(() => {
    setText(q);
    setHits(null);
    setError("");
    if (!q) return undefined;
    const abort = new AbortController();
    api.search(query(""), abort.signal).then((a) => { setHits(a.hits ?? []); setNext(a.nextPageToken); })
      .catch((e: unknown) => { if (!abort.signal.aborted) setError((e as Error).message); });
    return () => abort.abort();
  }, [q, job]);
  const more = () => {
    api.search(query(next)).then((a) => { setHits([...(hits ?? []), ...(a.hits ?? [])]); setNext(a.nextPageToken); })
      .catch((e: unknown) => setError((e as Error).message));
  };
  return <>
    <h1>{t.search.title}</h1>
    <form class="row search" role="search" onSubmit={(e) => { e.preventDefault(); setQuery({ q: text.trim() }, false); }}>
      <label class="hidden" for="q">{t.search.label}</label>
      <input id="q" type="search" value={text} placeholder={t.search.placeholder} autocomplete="off" spellcheck={false} aria-describedby="search-help"
        onInput={(e) => setText(e.currentTarget.value)} />
      <button class="primary">{t.search.submit}</button>
    </form>
    <p id="search-help" class="quiet small">{t.search.help}</p>
    {job && <p class="row"><span class="label">{t.search.within}: <code>{job}</code></span>
      <button type="button" class="small" onClick={() => setQuery({ job: "" }, false)}>{t.search.everywhere}</button></p>}
    {error && <Notice kind="error">{error}</Notice>}
    {q && hits === null && !error && <p class="quiet">{t.loading}</p>}
    {hits && <p class="quiet" role="status">{hits.length ? t.search.found(hits.length, next !== "") : t.search.none}</p>}
    {hits && hits.length > 0 && <ol class="hits">{hits.map((h) => <HitItem key={`${h.job}/${h.page}`} hit={h} q={q} />)}</ol>}
    {next && hits && <p><button type="button" onClick={more}>{t.search.more}</button></p>}
  </>;
}

function HitItem({ hit, q }: { hit: Hit; q: string }) {
  return (
    <li class="card">
      <h2><a href={`/ui/jobs/${hit.job}/pages/${hit.page}?q=${encodeURIComponent(q)}`}>{hit.filename || hit.job}, {t.search.page(hit.page)}</a></h2>
      <p class="snippet"><Marked text={hit.snippet} spans={hit.highlights} /></p>
      <p class="quiet small"><time dateTime={hit.createTime}>{formatAge(hit.createTime, now.value)}</time></p>
    </li>
  );
}

// Marked shows a text with its matches marked. Spans count Unicode characters, which JavaScript's indexes do not.
function Marked({ text, spans }: { text: string; spans: { start: number; end: number }[] }) {
  const chars = Array.from(text);
  const parts = [];
  let at = 0;
  for (const s of [...spans].sort((a, b) => a.start - b.start)) {
    if (s.start < at) continue;
    parts.push(chars.slice(at, s.start).join(""), <mark key={s.start}>{chars.slice(s.start, s.end).join("")}</mark>);
    at = s.end;
  }
  parts.push(chars.slice(at).join(""));
  return <>{parts}</>;
}
