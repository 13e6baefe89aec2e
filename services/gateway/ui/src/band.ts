// What a rubber band over a page takes: the words in it, as text in reading order.
import type { BBox, Block, Page, Word } from "./api";

const holds = (box: BBox, w: Word) => {
  const x = (w.bbox[0] + w.bbox[2]) / 2, y = (w.bbox[1] + w.bbox[3]) / 2;
  return x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3];
};

// textIn returns the text of the words whose middle is in the box: a line of text for each line of the page, a blank line
// between blocks. The cells of a table are set apart by tabs, as spreadsheets take them.
export function textIn(page: Page, box: BBox): { text: string; words: number; boxes: BBox[] } {
  const boxes: BBox[] = [];
  const parts: string[] = [];
  for (const block of page.blocks) {
    const lines = block.lines.map((l) => l.words.filter((w) => holds(box, w))).filter((l) => l.length > 0);
    if (lines.length === 0) continue;
    for (const l of lines) for (const w of l) boxes.push(w.bbox);
    parts.push(block.table ? tableText(block, lines.flat()) : lines.map((l) => l.map((w) => w.text).join(" ")).join("\n"));
  }
  return { text: parts.join("\n\n"), words: boxes.length, boxes };
}

function tableText(block: Block, words: Word[]): string {
  const rows = new Map<number, Map<number, string[]>>();
  for (const w of words) {
    const cell = block.table!.cells.find((c) => c.bbox.length === 4 && holds(c.bbox, w));
    const row = rows.get(cell?.row ?? 0) ?? new Map<number, string[]>();
    rows.set(cell?.row ?? 0, row);
    row.set(cell?.column ?? 0, [...row.get(cell?.column ?? 0) ?? [], w.text]);
  }
  const taken = [...rows.values()].flatMap((r) => [...r.keys()]);
  const first = Math.min(...taken), last = Math.max(...taken);
  return [...rows.entries()].sort((a, b) => a[0] - b[0]).map(([, row]) =>
    Array.from({ length: last - first + 1 }, (_, i) => (row.get(first + i) ?? []).join(" ")).join("\t")).join("\n");
}
