// The viewer: a page's image with what was read on it, and the text beside it; the two are linked word by word.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, ApiError, type BBox, hasEnded, type Hit, type Job, type Page } from "./api";
import { address, go, setQuery } from "./router";
import { textIn } from "./band";
import { classOf } from "./geometry";
import { PageStage, type Layers, type View } from "./stage";
import { TextPane } from "./textpane";
import { Contents } from "./contents";
import { Doubts, hasDoubts } from "./doubts";
import { JSONPane } from "./jsonpane";
import { MarkdownPane } from "./markdownpane";
import { Strip } from "./strip";
import { Copyable, Notice, Pill, poll, SearchLine, typing, useTitle } from "./widgets";
import { t } from "./texts";

const layersName = "inkstream.layers";
const noLayers: Layers = { words: true, lines: false, blocks: false, tables: true, links: false, figures: false, doubts: true };

function loadLayers(): Layers {
  try {
    return { ...noLayers, ...JSON.parse(localStorage.getItem(layersName) ?? "{}") as Partial<Layers> };
  } catch { return noLayers; }
}

// usePage loads a page, and again after a while where it has not been read yet.
function usePage(id: string, number: number): { page: Page | null; error: string } {
  const [state, setState] = useState<{ page: Page | null; error: string }>({ page: null, error: "" });
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const load = () => {
      api.page(id, number, abort.signal).then((page) => setState({ page, error: "" })).catch((e: unknown) => {
        if (abort.signal.aborted) return;
        const notReady = e instanceof ApiError && (e.code === "NOT_READY" || e.status === 202);
        setState({ page: null, error: notReady ? t.viewer.notReady : (e as Error).message });
        if (notReady || e instanceof ApiError && e.passes) timer = window.setTimeout(load, notReady ? 2000 : 5000);
      });
    };
    load();
    return () => { abort.abort(); clearTimeout(timer); };
  }, [id, number]);
  return state;
}

const maxHits = 5000; // pages; a document with more says so
interface Hits { hits: Hit[] | null; more: boolean; error: string }
const noHits: Hits = { hits: null, more: false, error: "" };

// useHits returns the pages of the document that match the query in the address, in page order.
function useHits(id: string, q: string): Hits {
  const [state, setState] = useState<Hits>(noHits);
  useEffect(() => {
    setState(noHits);
    if (!q) return undefined;
    const abort = new AbortController();
    const load = async () => {
      const found: Hit[] = [];
      for (let token = "", more = true; more;) {
        const a = await api.search(new URLSearchParams({ q, job: id, page_size: "100", page_token: token }), abort.signal);
        found.push(...(a.hits ?? []));
        token = a.nextPageToken;
        more = token !== "" && found.length < maxHits;
        setState({ hits: [...found].sort((x, y) => x.page - y.page), more: token !== "", error: "" });
      }
    };
    load().catch((e: unknown) => { if (!abort.signal.aborted) setState({ ...noHits, hits: [], error: (e as Error).message }); });
    return () => abort.abort();
  }, [id, q]);
  return state;
}

export function Viewer({ id, number }: { id: string; number: number }) {
  const [job, setJob] = useState<Job | null>(null);
  const { page, error } = usePage(id, number);
  const q = address.value.query.get("q") ?? "";
  const found = useHits(id, q);
  const hits = found.hits;
  const [view, setView] = useState<View>({ zoom: 0, turn: 0 });
  const [layers, setLayers] = useState(loadLayers);
  const [word, setWord] = useState(-1);
  const [pinned, setPinned] = useState(-1);
  useTitle(job ? `${job.filename}, ${t.search.page(number)}` : "");
  useEffect(() => poll(async (abort) => { // what is wrong, the page's own error says
    const j = await api.job(id, abort);
    setJob(j);
    return hasEnded(j) ? 60_000 : 3000;
  }), [id]);
  const [leftTab, setLeftTab] = useState<"pages" | "contents">("pages");
  const [tab, setTab] = useState<"text" | "markdown" | "json">("text");
  const [band, setBand] = useState<BBox | null>(null);
  useEffect(() => { setWord(-1); setPinned(-1); setBand(null); }, [id, number]);
  const shown = page?.number === number ? page : null;
  const count = job?.pageCount ?? number;
  const turnTo = (n: number) => {
    if (n >= 1 && n <= count && n !== number) go(`/jobs/${id}/pages/${n}${location.search}`, true);
  };
  const boxes = useMemo(() => hits?.find((h) => h.page === number)?.boxes.map((b) => b.bbox) ?? [], [hits, number]);
  const taken = useMemo(() => shown && band ? textIn(shown, band) : null, [shown, band]);
  useCopy(taken?.text ?? "");
  const toHit = (step: 1 | -1) => {
    const list = hits ?? [];
    const to = step > 0 ? list.find((h) => h.page > number) ?? list[0] : [...list].reverse().find((h) => h.page < number) ?? list[list.length - 1];
    if (to) turnTo(to.page);
  };
  const nextWeak = () => {
    const words = shown?.words ?? [];
    for (let i = 1; i <= words.length; i++) {
      const at = (Math.max(pinned, 0) + i) % words.length;
      if (classOf(words[at]!) === "low" || classOf(words[at]!) === "middle") { setPinned(at); return; }
    }
  };
  const changeView = (change: Partial<View>) => setView((v) => ({ ...v, ...change }));
  const zoomBy = (f: number) => setView((v) => ({ ...v, zoom: Math.min(6, Math.max(0.2, (v.zoom > 0 ? v.zoom : currentScale()) * f)) }));
  useViewerKeys({
    ArrowLeft: () => turnTo(number - 1), ArrowRight: () => turnTo(number + 1), PageUp: () => turnTo(number - 1), PageDown: () => turnTo(number + 1),
    "+": () => zoomBy(1.25), "=": () => zoomBy(1.25), "-": () => zoomBy(0.8), 0: () => changeView({ zoom: 0 }),
    r: () => setView((v) => ({ ...v, turn: (v.turn + 90) % 360 })), w: nextWeak, n: () => toHit(1), N: () => toHit(-1), Escape: () => setBand(null),
  });
  const setLayer = (name: keyof Layers, on: boolean) => {
    const next = { ...layers, [name]: on };
    setLayers(next);
    localStorage.setItem(layersName, JSON.stringify(next));
  };
  const current = word >= 0 ? word : pinned;
  return (
    <div class="viewer">
      <div class="viewer-head">
        <div class="row">
          <a href={`/ui/jobs/${id}`} class="crumb">{t.viewer.back}</a>
          <h1><bdi>{job?.filename ?? "…"}</bdi><span class="hidden">, {t.search.page(number)}</span></h1>
          {job && <Pill state={job.state} />}
        </div>
        <Toolbar number={number} count={count} turnTo={turnTo} zoomBy={zoomBy} changeView={changeView} view={view} />
        <FindBar q={q} found={found} toHit={toHit} />
      </div>
      <div class="strip-area">
        {count > 3 && (job?.resultRun ?? 0) > 0 && <Choice label={t.viewer.strip} values={{ pages: t.viewer.strip, contents: t.viewer.contents }} value={leftTab} choose={setLeftTab} />}
        {leftTab === "contents"
          ? <Contents id={id} number={number} />
          : <Strip id={id} count={count} number={number} hits={hits} />}
      </div>
      <div class="stage-area">
        {error && !shown && <Notice kind="error">{error}</Notice>}
        {shown && <PageStage id={id} page={shown} view={view} layers={layers} hits={boxes} current={current} pinned={pinned} hover={setWord} pin={setPinned}
          take={setBand} taken={taken?.boxes ?? []} />}
        {!shown && !error && <p class="quiet">{t.loading}</p>}
      </div>
      <aside class="side" aria-label={t.viewer.text}>
        <LayerSwitches layers={layers} setLayer={setLayer} page={shown} nextWeak={nextWeak} />
        {taken && taken.words > 0 && <Taken text={taken.text} words={taken.words} close={() => setBand(null)} />}
        {shown && <Doubts page={shown} />}
        <Choice label={t.viewer.panel} values={{ text: t.viewer.panel, markdown: t.viewer.markdown, json: t.viewer.json }} value={tab} choose={setTab} />
        {shown && tab === "text" && <p class="word-line" aria-live="polite">{current >= 0 && shown.words[current]
          ? <><strong>{shown.words[current]!.text}</strong> <span class="quiet">{t.viewer.confidence(shown.words[current]!.confidence)}</span></>
          : <span class="quiet">{t.viewer.keys}</span>}</p>}
        {shown && tab === "markdown" && <MarkdownPane id={id} number={number} />}
        {shown && tab === "json" && <JSONPane page={shown} word={pinned} />}
        {shown && tab === "text" && <TextPane page={shown} current={current} pinned={pinned} hits={boxes} hover={setWord} pin={setPinned} />}
      </aside>
    </div>
  );
}

// useCopy has the browser's own copying take the text, where nothing else is selected.
function useCopy(text: string) {
  useEffect(() => {
    if (!text) return undefined;
    const copy = (e: ClipboardEvent) => {
      if (getSelection()?.toString() || (e.target as Element | null)?.closest?.("input, textarea")) return;
      e.clipboardData?.setData("text/plain", text);
      e.preventDefault();
    };
    document.addEventListener("copy", copy);
    return () => document.removeEventListener("copy", copy);
  }, [text]);
}

// Choice is a row of buttons of which one is pressed.
function Choice<T extends string>({ label, values, value, choose }: { label: string; values: Record<T, string>; value: T; choose: (v: T) => void }) {
  return (
    <div class="row choice" role="group" aria-label={label}>
      {(Object.keys(values) as T[]).map((v) =>
        <button key={v} type="button" class="small" aria-pressed={v === value} onClick={() => choose(v)}>{values[v]}</button>)}
    </div>
  );
}

// Taken is what the rubber band has taken, to be copied.
function Taken({ text, words, close }: { text: string; words: number; close: () => void }) {
  return (
    <div class="taken-text">
      <div class="row"><strong role="status">{t.viewer.taken(words)}</strong><span class="grow" />
        <button type="button" class="small" onClick={close}>{t.viewer.letGo}</button></div>
      <Copyable text={text} label={t.viewer.takenText} />
    </div>
  );
}

// currentScale is what "fit" comes to at present, so that zooming goes on from there.
function currentScale(): number {
  return Number(document.querySelector<HTMLElement>(".sheet")?.dataset.scale ?? "1");
}

// scrollsAcross reports whether the arrows move what has the focus, as a page that is larger than its frame.
const scrollsAcross = (el: Element) => el.matches(".frame, .table-scroll") && el.scrollWidth > el.clientWidth;

function useViewerKeys(keys: Record<string, () => void>) {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (typing(e) && !(e.target as HTMLElement).matches("input[type=checkbox]")) return;
      const act = latest.current[e.key];
      if (!act || e.key.startsWith("Arrow") && scrollsAcross(e.target as Element)) return;
      e.preventDefault();
      act();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

interface ToolbarProps {
  number: number; count: number; view: View; turnTo: (n: number) => void; zoomBy: (f: number) => void; changeView: (v: Partial<View>) => void;
}

function Toolbar({ number, count, turnTo, zoomBy, changeView, view }: ToolbarProps) {
  const button = (label: string, sign: string, act: () => void, off = false) =>
    <button type="button" class="icon" aria-label={label} title={label} disabled={off} onClick={act}>{sign}</button>;
  return (
    <div class="row toolbar">
      {button(t.viewer.previous, "‹", () => turnTo(number - 1), number <= 1)}
      <label><span class="hidden">{t.viewer.number}</span>
        <input class="page-number" type="number" min={1} max={count} value={number} onChange={(e) => {
          turnTo(Math.min(count, Math.max(1, Math.round(Number(e.currentTarget.value)) || number)));
          e.currentTarget.value = String(number); // where it was no page, or this one
        }} /></label>
      <span class="quiet">{t.viewer.of(count)}</span>
      {button(t.viewer.next, "›", () => turnTo(number + 1), number >= count)}
      <span class="gap" />
      {button(t.viewer.zoomOut, "−", () => zoomBy(0.8))}
      {button(t.viewer.zoomIn, "+", () => zoomBy(1.25))}
      <button type="button" aria-pressed={view.zoom === 0} onClick={() => changeView({ zoom: 0 })}>{t.viewer.fitWidth}</button>
      <button type="button" aria-pressed={view.zoom === -1} onClick={() => changeView({ zoom: -1 })}>{t.viewer.fitPage}</button>
      {button(t.viewer.rotate, "⟳", () => changeView({ turn: (view.turn + 90) % 360 }))}
    </div>
  );
}

function FindBar({ q, found: { hits, more, error }, toHit }: { q: string; found: Hits; toHit: (step: 1 | -1) => void }) {
  return (
    <SearchLine id="find" label={t.viewer.find} labelHidden line={q} kind="row find" placeholder={t.viewer.find}
      submit={(line) => setQuery({ q: line })} clear={() => setQuery({ q: "" })}>
      <span class="quiet count" role="status">{error || (hits && (hits.length ? t.viewer.hits(hits.length, more) : t.viewer.noHits))}</span>
      {hits && hits.length > 1 && <>
        <button type="button" class="icon" aria-label={t.viewer.previousHit} title={t.viewer.previousHit} onClick={() => toHit(-1)}>↑</button>
        <button type="button" class="icon" aria-label={t.viewer.nextHit} title={t.viewer.nextHit} onClick={() => toHit(1)}>↓</button>
      </>}
    </SearchLine>
  );
}

function LayerSwitches({ layers, setLayer, page, nextWeak }: {
  layers: Layers; setLayer: (name: keyof Layers, on: boolean) => void; page: Page | null; nextWeak: () => void;
}) {
  const recognised = page?.words.some((w) => w.confidence !== undefined) ?? false;
  return (
    <div class="switches">
      <fieldset class="row">
        <legend class="hidden">{t.viewer.layers}</legend>
        {(Object.keys(noLayers) as (keyof Layers)[]).filter((name) => name !== "doubts" || (page && hasDoubts(page))).map((name) => (
          <label key={name} class="switch"><input type="checkbox" checked={layers[name]} onChange={(e) => setLayer(name, e.currentTarget.checked)} />
            {t.viewer[name]}</label>
        ))}
      </fieldset>
      {page && <div class="row legend small">
        {recognised ? <>
          <span class="key high">{t.viewer.high}</span><span class="key middle">{t.viewer.middle}</span><span class="key low">{t.viewer.low}</span>
          <button type="button" class="small" onClick={nextWeak}>{t.viewer.weak}</button>
        </> : <span class="quiet">{t.outcomes[page.outcome] ?? page.outcome}</span>}
        {recognised && <span class="quiet">{t.viewer.confidence(page.confidence)}</span>}
      </div>}
    </div>
  );
}
