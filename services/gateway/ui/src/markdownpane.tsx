// The page as Markdown, as document.md has it: its source, to be copied.
import { useEffect, useState } from "preact/hooks";
import { api } from "./api";
import { Copyable } from "./widgets";
import { t } from "./texts";

export function MarkdownPane({ id, number }: { id: string; number: number }) {
  const [state, setState] = useState<{ text: string | null; error: string }>({ text: null, error: "" });
  useEffect(() => {
    setState({ text: null, error: "" });
    const abort = new AbortController();
    api.pageMarkdown(id, number, abort.signal).then((text) => setState({ text, error: "" }))
      .catch((e: unknown) => { if (!abort.signal.aborted) setState({ text: null, error: (e as Error).message }); });
    return () => abort.abort();
  }, [id, number]);
  if (state.error) return <p class="quiet" role="alert">{state.error}</p>;
  if (state.text === null) return <p class="quiet">{t.loading}</p>;
  if (!state.text) return <p class="quiet">{t.viewer.nothing}</p>;
  return <div class="markdown"><Copyable text={state.text} label={t.viewer.markdownLabel} /></div>;
}
