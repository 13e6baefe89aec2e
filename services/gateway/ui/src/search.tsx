// Search: pages that match, each with a piece of its text, and the way to the place.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, caller, type Caller, type Hit } from "./api";
import { pathOf } from "./geometry";
import { pageImage } from "./images";
import { address, setQuery } from "./router";
import { formatAge } from "./format";
import { Notice, now, SearchLine, useTitle } from "./widgets";
import { t } from "./texts";

// left is what was found last, which is there at once when the user comes back from a page.
let left: { who: Caller | null; q: string; job: string; hits: Hit[]; next: string } | null = null;

export function SearchPage() {
  useTitle(t.search.title);
  const q = address.value.query.get("q") ?? "";
  const job = address.value.query.get("job") ?? "";
  const [old] = useState(() => left?.who === caller.value && left?.q === q && left.job === job ? left : null);
  const [hits, setHits] = useState<Hit[] | null>(old?.hits ?? null);
  const [next, setNext] = useState(old?.next ?? "");
  const [error, setError] = useState("");
  const [name, setName] = useState(""); // of the one document
  useEffect(() => {
    setName("");
    if (!job) return undefined;
    const abort = new AbortController();
    api.job(job, abort.signal).then((j) => setName(j.filename)).catch(() => undefined); // its id is shown instead
    return () => abort.abort();
  }, [job]);
  const query = (token: string) => {
    const p = new URLSearchParams({ q, page_size: "20" });
    if (job) p.set("job", job);
    if (token) p.set("page_token", token);
    return p;
  };
  useEffect(() => {
    if (hits && hits === old?.hits && q === old.q && job === old.job) return undefined; // back from a page
    setHits(null);
    setError("");
    if (!q) return undefined;
    const abort = new AbortController();
    api.search(query(""), abort.signal).then((a) => { setHits(a.hits ?? []); setNext(a.nextPageToken); })
      .catch((e: unknown) => { if (!abort.signal.aborted) setError((e as Error).message); });
    return () => abort.abort();
  }, [q, job]);
  useEffect(() => { left = hits && { who: caller.value, q, job, hits, next }; }, [hits, next]);
  const more = () => {
    api.search(query(next)).then((a) => { setHits([...(hits ?? []), ...(a.hits ?? [])]); setNext(a.nextPageToken); })
      .catch((e: unknown) => setError((e as Error).message));
  };
  return <>
    <h1>{t.search.title}</h1>
    <SearchLine id="q" label={t.search.label} labelHidden line={q} kind="row search" placeholder={t.search.placeholder}
      describedBy="search-help" submit={(line) => setQuery({ q: line }, false)}>
      <button class="primary">{t.search.submit}</button>
    </SearchLine>
    <p id="search-help" class="quiet small">{t.search.help}</p>
    {job && <p class="row"><span class="label">{t.search.within}: {name ? <bdi>{name}</bdi> : <code>{job}</code>}</span>
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
      <h2><a href={`/ui/jobs/${hit.job}/pages/${hit.page}?q=${encodeURIComponent(q)}`}><bdi>{hit.filename || hit.job}</bdi>, {t.search.page(hit.page)}</a></h2>
      <p class="snippet"><Marked text={hit.snippet} spans={hit.highlights} /></p>
      <Crop hit={hit} q={q} />
      <p class="quiet small"><time dateTime={hit.createTime}>{formatAge(hit.createTime, now.value)}</time></p>
    </li>
  );
}

const cropDPI = 100, cropHeight = 84, narrowWidth = 330; // height and width in points
const narrow = matchMedia("(max-width: 700px)");

// Crop is the part of the page around its first match, with all that match in it marked. It is drawn once it is near to
// being seen. The image and the marks fill one box, which has the page's proportions: so they stand on each other exactly.
function Crop({ hit, q }: { hit: Hit; q: string }) {
  const frame = useRef<HTMLAnchorElement>(null);
  const [image, setImage] = useState<{ url: string; width: number; height: number } | null>(null);
  const [failed, setFailed] = useState(false);
  const boxes = hit.boxes.map((b) => b.bbox).filter((b) => b.length === 4);
  useEffect(() => {
    if (!frame.current) return undefined;
    const abort = new AbortController();
    const observer = new IntersectionObserver((seen) => {
      if (!seen.some((s) => s.isIntersecting)) return;
      observer.disconnect();
      pageImage(hit.job, hit.page, cropDPI, abort.signal).then(measureImage)
        .then((i) => { if (!abort.signal.aborted) setImage(i); })
        .catch(() => { if (!abort.signal.aborted) setFailed(true); }); // the snippet says what was found all the same
    }, { rootMargin: "300px" });
    observer.observe(frame.current);
    return () => { observer.disconnect(); abort.abort(); };
  }, [hit.job, hit.page]);
  if (boxes.length === 0 || failed) return null;
  const page = image ?? { url: "", width: 612, height: 792 };
  const width = narrow.matches ? Math.min(narrowWidth, page.width) : page.width, height = Math.min(cropHeight, page.height);
  const [x0, y0, x1, y1] = boxes[0]!;
  const left = within((x0 + x1 - width) / 2, page.width - width), top = within((y0 + y1 - height) / 2, page.height - height);
  const percent = (part: number, of: number) => `${(100 * part) / of}%`;
  return (
    <a class="crop" ref={frame} aria-hidden="true" tabIndex={-1} href={`/ui/jobs/${hit.job}/pages/${hit.page}?q=${encodeURIComponent(q)}`}
      style={{ aspectRatio: `${width} / ${height}` }}>
      {image && <span style={{
        left: percent(-left, width), top: percent(-top, height), width: percent(page.width, width), height: percent(page.height, height),
      }}>
        <img src={image.url} alt="" draggable={false} />
        <svg viewBox={`0 0 ${page.width} ${page.height}`} preserveAspectRatio="none"><path class="hit" d={pathOf(boxes)} /></svg>
      </span>}
    </a>
  );
}

const within = (value: number, most: number) => Math.max(0, Math.min(value, most));

// measureImage returns an image with its page's size in points.
async function measureImage(url: string): Promise<{ url: string; width: number; height: number }> {
  const picture = new Image();
  picture.src = url;
  await picture.decode();
  return { url, width: (picture.naturalWidth * 72) / cropDPI, height: (picture.naturalHeight * 72) / cropDPI };
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
