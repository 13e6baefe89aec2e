// What is doubtful on a page: where two readings of it do not agree, and what looks like text and was not read.
import type { Doubt, Page } from "./api";
import { t } from "./texts";

export const hasDoubts = (page: Page) => page.doubts.length + page.unreadRegions.length > 0;

export function Doubts({ page }: { page: Page }) {
  if (!hasDoubts(page)) return null;
  return (
    <details class="doubts">
      <summary>{t.viewer.doubtCount(page.doubts.length, page.unreadRegions.length)}</summary>
      <ul>
        {page.doubts.map((d, i) => <li key={i}><strong>{t.doubts[d.kind] ?? d.kind}</strong> {describe(d)}</li>)}
      </ul>
    </details>
  );
}

function describe(d: Doubt) {
  return <>
    {d.text && <q>{d.text}</q>}
    {d.text && d.witness && ", "}
    {d.witness && <span class="quiet">{t.viewer.otherReading} <q>{d.witness}</q></span>}
    {d.leftOut && <span class="quiet"> ({t.viewer.leftOut})</span>}
  </>;
}
