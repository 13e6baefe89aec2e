// Small pieces that several pages use.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { ApiError } from "./api";
import { t } from "./texts";

// now is the time, for ages; it moves every ten seconds.
export const now = signal(Date.now());
setInterval(() => { if (!document.hidden) now.value = Date.now(); }, 10_000);

export function Pill({ state }: { state: string }) {
  return <span class={`pill ${state.toLowerCase()}`}>{t.states[state] ?? state.toLowerCase()}</span>;
}

export function Bar({ done, of, label }: { done: number; of: number; label: string }) {
  return <progress aria-label={label} max={of || 1} value={of ? done : 0}>{label}</progress>;
}

// Notice is a message in place: what went wrong, or what was done.
export function Notice({ kind, children }: { kind: "error" | "info"; children: ComponentChildren }) {
  return <p class={`notice ${kind}`} role={kind === "error" ? "alert" : "status"}>{children}</p>;
}

// SearchLine is a form of one field whose line stands in the address. The field takes a new line in the same step that
// shows what it led to, so nothing typed afterwards is overwritten, and what is submitted is what stands in the field.
export function SearchLine({ id, label, labelHidden, line, kind, placeholder, describedBy, submit, clear, children }: {
  id: string; label: string; labelHidden?: boolean; line: string; kind?: string; placeholder: string; describedBy?: string;
  submit: (line: string) => void; clear?: () => void; children?: ComponentChildren;
}) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => { if (field.current) field.current.value = line; }, [line]);
  return (
    <form class={kind} role="search" onSubmit={(e) => { e.preventDefault(); submit(field.current?.value.trim() ?? ""); }}>
      <label class={labelHidden ? "hidden" : undefined} for={id}>{label}</label>
      <input ref={field} id={id} type="search" placeholder={placeholder} autocomplete="off" spellcheck={false} aria-describedby={describedBy}
        onInput={(e) => { if (!e.currentTarget.value) clear?.(); }} />
      {children}
    </form>
  );
}

interface Question { title: string; text: string; yes: string; act: () => void }
const question = signal<Question | null>(null);

// ask has a dialog confirm what cannot be undone.
export function ask(q: Question) { question.value = q; }

export function Asking() {
  const dialog = useRef<HTMLDialogElement>(null);
  const q = question.value;
  useEffect(() => {
    if (q) dialog.current?.showModal();
    else dialog.current?.close();
  }, [q]);
  return (
    <dialog ref={dialog} aria-labelledby="ask-title" onClose={() => { question.value = null; }}>
      {q && <>
        <h2 id="ask-title">{q.title}</h2>
        <p>{q.text}</p>
        <div class="row end">
          <button type="button" onClick={() => { question.value = null; }}>{t.no}</button>
          <button type="button" class="danger" onClick={() => { q.act(); question.value = null; }}>{q.yes}</button>
        </div>
      </>}
    </dialog>
  );
}

// KeyHelp is a button that shows which keys do what, as ? does.
export function KeyHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.key !== "?" || typing(e)) return;
      e.preventDefault();
      setOpen(true);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  useEffect(() => { if (open) dialog.current?.showModal(); }, [open]);
  return <>
    <button type="button" class="icon" aria-label={t.keys.button} title={`${t.keys.button} (?)`} onClick={() => setOpen(true)}>?</button>
    {open && <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={() => setOpen(false)}>
      <h2 id="keys-title">{t.keys.title}</h2>
      {t.keys.groups.map((g) => <section key={g.name} aria-label={g.name}><h3>{g.name}</h3>
        <dl>{g.keys.map(([keys, does]) => <div key={keys}><dt>{keys.split("  ").map((k) => <kbd key={k}>{k}</kbd>)}</dt><dd>{does}</dd></div>)}</dl>
      </section>)}
      <form method="dialog" class="row end"><button>{t.keys.close}</button></form>
    </dialog>}
  </>;
}

// Copyable is a command with a button that copies it.
export function Copyable({ text, label }: { text: string; label: string }) {
  const [said, setSaid] = useState("");
  const pre = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => setSaid(""), 3000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => setSaid(await copyText(text, pre.current!) ? t.copied : t.copyByHand);
  return (
    <div class="command">
      <pre ref={pre} tabIndex={0} aria-label={label}>{text}</pre>
      <button type="button" onClick={() => void copy()}>{said || t.copy}<span class="hidden"> {label}</span></button>
      <span class="hidden" role="status">{said}</span>
    </div>
  );
}

// copyText copies the text of an element. A page that came without TLS has no clipboard, but the command of old.
async function copyText(text: string, element: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(element); // it stays selected, so that it can be copied by hand
    return document.execCommand("copy");
  }
}

// Labels are pairs of a name and a value; each leads to the list with that label.
export function Labels({ labels }: { labels: Record<string, string> }) {
  const names = Object.keys(labels).sort();
  return <>{names.map((n) => {
    const text = labels[n] ? `${n}=${labels[n]}` : n;
    const filter = /\s/.test(text) ? n : text; // the filter line is divided at blanks
    return <a key={n} class="label" href={`/ui/?filter=${encodeURIComponent(`label:${filter}`)}`} title={`${text}\n${t.documents.withLabel}`}>{text}</a>;
  })}</>;
}

// useTitle sets the document's title, which screen readers announce.
export function useTitle(title: string) {
  useEffect(() => { document.title = title ? `${title} · Inkstream` : "Inkstream"; }, [title]);
}

// typing reports whether a key belongs to a field.
export function typing(e: KeyboardEvent): boolean {
  const el = e.target as HTMLElement;
  return e.ctrlKey || e.metaKey || e.altKey || !!el.closest?.("input, textarea, select, dialog[open]");
}

// poll calls load now, and again after each pause, but not while the tab is hidden. It tells what is wrong, or nothing
// once it is right again. It returns what ends it.
export function poll(load: (abort: AbortSignal) => Promise<number>, tell: (error: string) => void = () => undefined): () => void {
  const abort = new AbortController();
  let timer = 0;
  const turn = async () => {
    if (abort.signal.aborted) return;
    let pause = 1000;
    try {
      if (!document.hidden) {
        pause = await load(abort.signal);
        if (!abort.signal.aborted) tell("");
      }
    } catch (e) {
      pause = e instanceof ApiError && !e.passes ? 30_000 : 5000;
      if (!abort.signal.aborted) tell((e as Error).message);
    }
    if (!abort.signal.aborted) timer = window.setTimeout(turn, pause);
  };
  void turn();
  return () => { abort.abort(); clearTimeout(timer); };
}
