// The document's own outline, which leads to its pages.
import { useEffect, useState } from "preact/hooks";
import { api, type OutlineEntry } from "./api";
import { t } from "./texts";

const most = 1000; // of a longer outline the rest is left out: each entry costs elements

export function Contents({ id, number }: { id: string; number: number }) {
  const [outline, setOutline] = useState<OutlineEntry[] | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    api.metadata(id, abort.signal).then((m) => setOutline((m.document?.outline ?? []).filter((e) => e.page > 0).slice(0, most)))
      .catch((e: unknown) => { if (!abort.signal.aborted) setError((e as Error).message); });
    return () => abort.abort();
  }, [id]);
  if (error || !outline || outline.length === 0) return <p class="quiet" role={error ? "alert" : "status"}>{error || (outline ? t.viewer.noContents : t.loading)}</p>;
  const here = outline.findLastIndex((e) => e.page <= number);
  return (
    <nav class="contents" aria-label={t.viewer.contents} tabIndex={0}>
      <ul>{outline.map((e, i) => (
        <li key={i} class={`level-${Math.min(Math.max(e.level, 1), 6)}`}>
          <a href={`/ui/jobs/${id}/pages/${e.page}${location.search}`} aria-current={i === here ? "true" : undefined}>{e.title || "–"}</a>
          <span class="number quiet">{e.page}</span>
        </li>
      ))}</ul>
    </nav>
  );
}
