// The page's text, one text node to a block. Words are marked by ranges, so that no word needs an element.
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { BBox, Block, Page, Table, Word } from "./api";
import { classOf } from "./geometry";
import { t } from "./texts";

// Place is where a word stands in the text of a block, or of a table's cell.
interface Place { index: number; part: number; cell: number; start: number; end: number }
interface Piece { block: Block; text: string; words: Place[] }

// pieces lays the page's words out by block. The page's own list of words has them in the same order.
function pieces(page: Page): Piece[] {
  let index = 0;
  return page.blocks.map((block, part) => {
    let text = "";
    const words: Place[] = [];
    const inCell = block.table && cellFinder(block.table);
    block.lines.forEach((line, i) => {
      if (i > 0) text += "\n";
      line.words.forEach((w, k) => {
        if (k > 0) text += " ";
        const place = inCell ? inCell(w) : { cell: -1, start: text.length };
        if (place) words.push({ index, part, ...place, end: place.start + w.text.length });
        index++;
        text += w.text;
      });
    });
    return { block, text, words };
  });
}

// cellFinder returns what finds the place of a table's next word in the text of its cell; nothing where it is in none.
function cellFinder(table: Table): (w: Word) => { cell: number; start: number } | undefined {
  const read = table.cells.map(() => 0); // how far each cell's text has been found
  return (w) => {
    const x = (w.bbox[0] + w.bbox[2]) / 2, y = (w.bbox[1] + w.bbox[3]) / 2;
    const cell = table.cells.findIndex((c) => x >= c.bbox[0] && x <= c.bbox[2] && y >= c.bbox[1] && y <= c.bbox[3]);
    const start = table.cells[cell]?.text.indexOf(w.text, read[cell]) ?? -1;
    if (start < 0) return undefined;
    read[cell] = start + w.text.length;
    return { cell, start };
  };
}

// languageTag returns a language of three letters as pages name it; none where it is not one.
function languageTag(code: string): string | undefined {
  try {
    return code ? Intl.getCanonicalLocales(code)[0] : undefined;
  } catch { return undefined; }
}

interface Props { page: Page; current: number; pinned: number; hits: BBox[]; hover: (word: number) => void; pin: (word: number) => void }

export function TextPane({ page, current, pinned, hits, hover, pin }: Props) {
  const pane = useRef<HTMLDivElement>(null);
  const parts = useMemo(() => pieces(page), [page]);
  const places = useMemo(() => new Map(parts.flatMap((p) => p.words.map((w) => [w.index, w]))), [parts]);
  const rangeOf = (index: number): Range | null => {
    const place = places.get(index);
    const node = place && pane.current?.querySelector(`[data-part="${place.part}"][data-cell="${place.cell}"]`)?.firstChild;
    if (!place || !node) return null;
    const range = document.createRange();
    range.setStart(node, place.start);
    range.setEnd(node, place.end);
    return range;
  };
  useEffect(() => {
    highlight("ink-word", [rangeOf(current)]);
    if (current >= 0 && current === pinned) scrollTo(pane.current, rangeOf(current));
  }, [current, pinned, parts]);
  useEffect(() => {
    const isHit = (b: BBox) => hits.some((h) => Math.abs(h[0] - b[0]) < 0.6 && Math.abs(h[1] - b[1]) < 0.6 && Math.abs(h[2] - b[2]) < 0.6);
    const marked = hits.length ? page.words.flatMap((w, i) => isHit(w.bbox) ? [rangeOf(i)] : []) : [];
    highlight("ink-hit", marked);
    scrollTo(pane.current, marked[0] ?? null);
    const of = (name: string) => page.words.flatMap((w, i) => classOf(w) === name ? [rangeOf(i)] : []);
    highlight("ink-low", of("low"));
    highlight("ink-middle", of("middle"));
    return () => { for (const name of ["ink-word", "ink-hit", "ink-low", "ink-middle"]) CSS.highlights?.delete(name); };
  }, [page, hits, parts]);
  const locate = (e: MouseEvent): number => {
    const at = document.caretPositionFromPoint?.(e.clientX, e.clientY);
    const { part, cell } = (at?.offsetNode.parentElement as HTMLElement | null)?.dataset ?? {};
    if (!at || part === undefined) return -1;
    return parts[Number(part)]!.words.find((w) => w.cell === Number(cell) && at.offset >= w.start && at.offset <= w.end)?.index ?? -1;
  };
  if (page.blocks.length === 0) {
    return <p class="quiet">{t.viewer.nothing}{page.error?.message && ` ${page.error.message}`}{page.reason && ` (${t.reasons[page.reason] ?? page.reason})`}</p>;
  }
  return (
    <div class="text" ref={pane} tabIndex={0} role="region" aria-label={t.viewer.text} lang={languageTag(page.language)}
      onPointerMove={(e) => hover(locate(e))} onPointerLeave={() => hover(-1)} onClick={(e) => {
        if (!getSelection()?.toString()) pin(locate(e));
      }}>
      {parts.map((p, i) => p.block.table
        ? <TableView key={i} block={p.block} part={i} />
        : <BlockView key={i} type={p.block.type} level={p.block.level} part={i} text={p.text} />)}
    </div>
  );
}

// BlockView shows a block by its kind. Headings of the document are none of this page, so they are set apart by style.
function BlockView({ type, level, part, text }: { type: string; level: number; part: number; text: string }) {
  return <p class={`block ${type} level-${level}`} data-part={part} data-cell={-1}>{text}</p>;
}

function TableView({ block, part }: { block: Block; part: number }) {
  const table = block.table!;
  const rows = Array.from({ length: table.rows }, (_, r) => table.cells.filter((c) => c.row === r));
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={t.viewer.table(table.number)}>
      <table class="read">
        <caption class="small quiet">{t.viewer.table(table.number)}</caption>
        <tbody>{rows.map((cells, r) => {
          const taken = new Set<number>();
          for (const c of table.cells) if (c.row < r && c.row + c.rowSpan > r) for (let k = 0; k < c.columnSpan; k++) taken.add(c.column + k);
          const out = [];
          for (let col = 0; col < table.columns; col++) {
            if (taken.has(col)) continue;
            const c = cells.find((x) => x.column === col);
            if (!c) { out.push(<td key={col} />); continue; }
            out.push(<td key={col} class={r < table.headerRows ? "head" : ""} rowSpan={c.rowSpan} colSpan={c.columnSpan}
              data-part={part} data-cell={table.cells.indexOf(c)}>{c.text}</td>);
            col += c.columnSpan - 1;
          }
          return <tr key={r}>{out}</tr>;
        })}</tbody>
      </table>
    </div>
  );
}

function highlight(name: string, ranges: (Range | null)[]) {
  const real = ranges.filter((r) => r !== null);
  if (!CSS.highlights) return; // an older browser: the image alone is marked
  if (real.length) CSS.highlights.set(name, new Highlight(...real));
  else CSS.highlights.delete(name);
}

function scrollTo(pane: HTMLElement | null, range: Range | null) {
  if (!pane || !range) return;
  const p = pane.getBoundingClientRect(), r = range.getBoundingClientRect();
  if (r.top < p.top + 10 || r.bottom > p.bottom - 10) pane.scrollBy({ top: r.top - (p.top + p.height / 3) });
}
