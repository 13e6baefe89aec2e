// Boxes on a page: a grid that finds the word under a point, and paths that draw many boxes as one element.
import type { BBox, Word } from "./api";

// Grid finds boxes by a point without one element, or one comparison, for each of them.
export class Grid {
  private readonly cells = new Map<number, number[]>();
  private static readonly size = 24;
  constructor(private readonly boxes: BBox[]) {
    boxes.forEach((b, i) => {
      if (b.length < 4) return;
      for (let x = Math.floor(b[0] / Grid.size); x <= Math.floor(b[2] / Grid.size); x++) {
        for (let y = Math.floor(b[1] / Grid.size); y <= Math.floor(b[3] / Grid.size); y++) {
          const key = x * 10_000 + y;
          const cell = this.cells.get(key);
          if (cell) cell.push(i);
          else this.cells.set(key, [i]);
        }
      }
    });
  }

  // at returns the index of the smallest box that holds the point, or -1.
  at(x: number, y: number): number {
    let best = -1, least = Infinity;
    for (const i of this.cells.get(Math.floor(x / Grid.size) * 10_000 + Math.floor(y / Grid.size)) ?? []) {
      const b = this.boxes[i]!;
      const area = (b[2] - b[0]) * (b[3] - b[1]);
      if (x >= b[0] && x <= b[2] && y >= b[1] && y <= b[3] && area < least) { best = i; least = area; }
    }
    return best;
  }
}

// pathOf draws boxes as one path.
export function pathOf(boxes: BBox[]): string {
  return boxes.filter((b) => b.length === 4).map((b) =>
    `M${b[0].toFixed(1)} ${b[1].toFixed(1)}H${b[2].toFixed(1)}V${b[3].toFixed(1)}H${b[0].toFixed(1)}Z`).join("");
}

// classOf is how sure the recognition was of a word. Native text is not less sure than anything: it has no confidence.
export function classOf(w: Word): "native" | "high" | "middle" | "low" {
  if (w.confidence === undefined) return "native";
  return w.confidence >= 0.9 ? "high" : w.confidence >= 0.7 ? "middle" : "low";
}
