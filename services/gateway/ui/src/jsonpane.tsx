// The block of a word as the API gives it, to be copied.
import type { Block, Page } from "./api";
import { Copyable } from "./widgets";
import { t } from "./texts";

// blockOf returns the block that a word of the page's list stands in.
function blockOf(page: Page, word: number): Block | undefined {
  let end = 0;
  return page.blocks.find((b) => { end += b.lines.reduce((n, l) => n + l.words.length, 0); return word < end; });
}

export function JSONPane({ page, word }: { page: Page; word: number }) {
  const block = word >= 0 ? blockOf(page, word) : page.blocks[0];
  if (!block) return <p class="quiet">{t.viewer.nothing}</p>;
  return (
    <div class="markdown">
      <p class="quiet small">{t.viewer.jsonHelp}</p>
      <Copyable text={JSON.stringify(block, null, 2)} label={t.viewer.jsonLabel} />
    </div>
  );
}
