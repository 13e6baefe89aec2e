// The page's image with what was read on it as SVG: one path for each class of words, one rectangle for the word that
// is meant, whatever the number of words.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { BBox, Page } from "./api";
import { classOf, Grid, pathOf } from "./geometry";
import { hasDoubts } from "./doubts";
import { pageImage } from "./images";
import { t } from "./texts";

export interface Layers { words: boolean; lines: boolean; blocks: boolean; tables: boolean; links: boolean; figures: boolean; doubts: boolean }
// View: zoom is CSS pixels to a point; 0 fits the width, -1 the whole page. turn is degrees clockwise.
export interface View { zoom: number; turn: number }

interface Props {
  id: string; page: Page; view: View; layers: Layers; hits: BBox[]; current: number; pinned: number;
  hover: (word: number) => void; pin: (word: number) => void;
  // take is called with what a rubber band has taken: boxes of the page, or null where it was let go.
  take: (box: BBox | null) => void; taken: BBox[];
}

const steps = [72, 100, 150, 200, 300]; // resolutions, few, so that zooming finds images that are there

export function PageStage(props: Props) {
  const { id, page, view, layers, hits, current, pinned, hover, pin, take, taken } = props;
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const aside = view.turn % 180 !== 0;
  const width = aside ? page.height : page.width, height = aside ? page.width : page.height;
  const room = Math.max(size.width - 34, 100);
  const fitPage = Math.min(room / width, Math.max(size.height - 34, 100) / height);
  const scale = view.zoom > 0 ? view.zoom : view.zoom === 0 ? Math.min(room / width, 2.5) : fitPage;
  const wanted = scale * 72 * Math.min(window.devicePixelRatio || 1, 2);
  const dpi = steps.find((s) => s >= wanted * 0.9) ?? 300;
  const { url, failed } = useImage(id, page.number, size.width ? dpi : 0);
  const grid = useMemo(() => new Grid(page.words.map((w) => w.bbox)), [page]);
  const svg = useRef<SVGSVGElement>(null);

  const [band, setBand] = useState<BBox | null>(null);
  const from = useRef<DOMPoint | null>(null);
  const drawn = useRef(false); // the click at the end of a band is none

  // pointOf returns the place on the page under the pointer. The picture is turned by CSS, which the browser's matrix knows.
  const pointOf = (e: PointerEvent | MouseEvent): DOMPoint | null => {
    const m = svg.current?.getScreenCTM();
    return m ? new DOMPoint(e.clientX, e.clientY).matrixTransform(m.inverse()) : null;
  };
  const locate = (e: PointerEvent | MouseEvent): number => {
    const p = pointOf(e);
    return p ? grid.at(p.x, p.y) : -1;
  };
  const press = (e: PointerEvent) => {
    drawn.current = false;
    if (e.button !== 0 || e.pointerType === "touch") return; // a finger scrolls
    from.current = pointOf(e);
    (e.currentTarget as Element).setPointerCapture(e.pointerId);
  };
  const move = (e: PointerEvent) => {
    const a = from.current, b = pointOf(e);
    if (!a || !b) { hover(locate(e)); return; }
    if (!band && Math.hypot(b.x - a.x, b.y - a.y) * scale < 5) return;
    drawn.current = true;
    setBand([Math.min(a.x, b.x), Math.min(a.y, b.y), Math.max(a.x, b.x), Math.max(a.y, b.y)]);
  };
  const release = () => {
    from.current = null;
    if (drawn.current) take(band);
    setBand(null);
  };
  useEffect(() => { reveal(frame.current, svg.current, page.words[pinned]?.bbox ?? (pinned < 0 ? hits[0] : undefined)); }, [page, pinned, hits, scale, view.turn]);
  const mark = page.words[current]?.bbox;
  return (
    <div class="frame" ref={frame} tabIndex={0} role="region" aria-label={t.viewer.page(page.number)}>
      <div class="turned" style={{ width: `${width * scale}px`, height: `${height * scale}px` }}>
        <div class="sheet" data-scale={scale} style={{
          width: `${page.width * scale}px`, height: `${page.height * scale}px`, transform: `translate(-50%, -50%) rotate(${view.turn}deg)`,
        }}>
          {url && <img src={url} alt={t.viewer.image(page.number)} draggable={false} />}
          {failed && <p class="notice error" role="alert">{t.viewer.imageFailed}</p>}
          <svg ref={svg} viewBox={`0 0 ${page.width} ${page.height}`} aria-hidden="true"
            onPointerDown={press} onPointerMove={move} onPointerUp={release} onPointerCancel={() => { from.current = null; setBand(null); }}
            onPointerLeave={() => hover(-1)} onClick={(e) => {
              if (drawn.current) return;
              take(null);
              pin(locate(e));
            }}>
            <Overlay page={page} layers={layers} />
            {hits.length > 0 && <path class="hit" d={pathOf(hits)} />}
            {taken.length > 0 && <path class="taken" d={pathOf(taken)} />}
            {band && <rect class="band" x={band[0]} y={band[1]} width={band[2] - band[0]} height={band[3] - band[1]} />}
            {mark && <rect class="mark" x={mark[0] - 1} y={mark[1] - 1} width={mark[2] - mark[0] + 2} height={mark[3] - mark[1] + 2} rx="1.5" />}
          </svg>
        </div>
      </div>
    </div>
  );
}

// reveal scrolls a box into the frame where it is outside of it.
function reveal(frame: HTMLElement | null, svg: SVGSVGElement | null, box: BBox | undefined) {
  const m = svg?.getScreenCTM();
  if (!frame || !m || !box) return;
  const r = frame.getBoundingClientRect();
  const p = new DOMPoint((box[0] + box[2]) / 2, (box[1] + box[3]) / 2).matrixTransform(m);
  if (p.x > r.left + 20 && p.x < r.right - 20 && p.y > r.top + 20 && p.y < r.bottom - 20) return;
  frame.scrollBy({ left: p.x - (r.left + r.right) / 2, top: p.y - (r.top + r.bottom) / 2 });
}

function Overlay({ page, layers }: { page: Page; layers: Layers }) {
  const classes = useMemo(() => {
    const by: Record<string, BBox[]> = { native: [], high: [], middle: [], low: [] };
    for (const w of page.words) by[classOf(w)]!.push(w.bbox);
    return Object.entries(by).filter(([, boxes]) => boxes.length > 0).map(([name, boxes]) => ({ name, d: pathOf(boxes) }));
  }, [page]);
  const lines = useMemo(() => pathOf(page.blocks.flatMap((b) => b.lines.map((l) => l.bbox))), [page]);
  const tables = page.blocks.filter((b) => b.table);
  return <>
    {layers.words && classes.map((c) => <path key={c.name} class={`words ${c.name}`} d={c.d} />)}
    {layers.lines && <path class="lines" d={lines} />}
    {layers.tables && tables.map((b) => <g key={b.bbox.join()} class="table-layer">
      <path d={pathOf([b.bbox])} class="outer" /><path d={pathOf(b.table!.cells.map((c) => c.bbox))} />
    </g>)}
    {layers.links && <path class="links" d={pathOf(page.links.map((l) => l.bbox))} />}
    {layers.figures && <path class="figures" d={pathOf(page.images.filter((i) => !i.mask).map((i) => i.bbox))} />}
    {layers.doubts && hasDoubts(page) && <path class="doubt" d={pathOf([...page.doubts, ...page.unreadRegions].flatMap((d) => d.bbox.length === 4 ? [d.bbox] : []))} />}
    {layers.blocks && <Blocks page={page} />}
  </>;
}

// Blocks shows the blocks and, by numbers and a line through them, the order in which they are read.
function Blocks({ page }: { page: Page }) {
  const blocks = page.blocks.filter((b) => b.bbox.length === 4);
  return (
    <g class="blocks">
      <path d={pathOf(blocks.map((b) => b.bbox))} />
      <polyline points={blocks.map((b) => `${b.bbox[0].toFixed(1)},${b.bbox[1].toFixed(1)}`).join(" ")} />
      {blocks.map((b, i) => <g key={i}>
        <circle cx={b.bbox[0]} cy={b.bbox[1]} r="7" /><text x={b.bbox[0]} y={b.bbox[1] + 2.8}>{i + 1}</text>
      </g>)}
    </g>
  );
}

function useSize(ref: { current: HTMLElement | null }): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const el = ref.current;
    if (!el) return undefined;
    const measure = () => {
      // A bar that comes and goes must not change what fits.
      const width = el.offsetWidth, height = el.offsetHeight;
      setSize((s) => s.width === width && s.height === height ? s : { width, height });
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(el);
    return () => observer.disconnect();
  }, []);
  return size;
}

function useImage(id: string, page: number, dpi: number): { url: string; failed: boolean } {
  const [state, setState] = useState({ url: "", failed: false, page: 0 });
  useEffect(() => {
    if (!dpi) return undefined;
    const abort = new AbortController();
    pageImage(id, page, dpi, abort.signal, true).then((url) => { if (!abort.signal.aborted) setState({ url, failed: false, page }); })
      .catch(() => { if (!abort.signal.aborted) setState({ url: "", failed: true, page }); });
    return () => abort.abort();
  }, [id, page, dpi]);
  return state.page === page ? state : { url: "", failed: false };
}
