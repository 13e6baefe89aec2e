// Saved views: names for lines of the filter, which this browser keeps for each tenant.
import { useEffect, useRef, useState } from "preact/hooks";
import { caller } from "./api";
import { setFilter } from "./router";
import { keepSetting, loadSetting } from "./settings";
import { t } from "./texts";

interface SavedView { name: string; filter: string }

const isViewList = (value: unknown): value is SavedView[] => Array.isArray(value) &&
  value.every((v: Partial<SavedView> | null) => typeof v?.name === "string" && typeof v.filter === "string");

const storeName = (tenant: string) => `inkstream.views.${tenant}`;
const loadViews = (tenant: string) => loadSetting(storeName(tenant), isViewList) ?? [];

// useViews returns the views of a tenant, and what keeps others in their place, here and in other tabs.
function useViews(tenant: string): [SavedView[], (change: (views: SavedView[]) => SavedView[]) => void] {
  const [views, setViews] = useState<SavedView[]>([]);
  useEffect(() => {
    setViews(loadViews(tenant));
    const other = (e: StorageEvent) => { if (e.key === storeName(tenant)) setViews(loadViews(tenant)); };
    window.addEventListener("storage", other);
    return () => window.removeEventListener("storage", other);
  }, [tenant]);
  return [views, (change) => {
    const next = change(loadViews(tenant)); // another tab may have saved one since
    keepSetting(storeName(tenant), next);
    setViews(next);
  }];
}

// SavedViews lists the views, and gives the present line a name.
export function SavedViews({ line }: { line: string }) {
  const [views, change] = useViews(caller.value?.tenant ?? "");
  const [naming, setNaming] = useState(false);
  const [note, setNote] = useState("");
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => setNaming(false), [line]);
  if (!caller.value) return null;
  const save = (name: string) => {
    change((all) => [...all.filter((v) => v.name !== name), { name, filter: line }].sort((a, b) => a.name.localeCompare(b.name)));
    setNaming(false);
    setNote(t.documents.viewSaved(name));
    document.getElementById("filter")?.focus();
  };
  const remove = (name: string, at: number) => {
    change((all) => all.filter((v) => v.name !== name));
    setNote(t.documents.viewRemoved(name));
    // The focus stays in the list where something is left of it.
    const buttons = list.current?.querySelectorAll<HTMLElement>("li button") ?? [];
    (buttons[at + 1] ?? buttons[at - 1] ?? document.getElementById("filter"))?.focus();
  };
  const unnamed = line !== "" && !views.some((v) => v.filter === line);
  return <>
    <span class="hidden" role="status">{note}</span>
    {(views.length > 0 || unnamed) && <ul class="row views" ref={list} aria-label={t.documents.views}>
      {views.map((v, i) => <li key={v.name}>
        <a href={`/ui/?${new URLSearchParams({ filter: v.filter })}`} title={v.filter} aria-current={v.filter === line ? "true" : undefined}
          onClick={(e) => { if (v.filter === line) { e.preventDefault(); setFilter(""); } }}>{v.name}</a>
        <button type="button" aria-label={t.documents.removeView(v.name)} title={t.documents.removeView(v.name)} onClick={() => remove(v.name, i)}>×</button>
      </li>)}
      {unnamed && !naming && <li class="save"><button type="button" class="small" onClick={() => setNaming(true)}>{t.documents.saveView}</button></li>}
    </ul>}
    {naming && unnamed && <NameForm save={save} leave={() => setNaming(false)} />}
  </>;
}

function NameForm({ save, leave }: { save: (name: string) => void; leave: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (e: Event) => {
    e.preventDefault();
    const name = field.current?.value.trim();
    if (name) save(name);
  };
  return (
    <form class="row view-name" onSubmit={submit} onKeyDown={(e) => { if (e.key === "Escape") leave(); }}>
      <label for="view-name">{t.documents.viewName}</label>
      <input id="view-name" ref={field} required maxLength={60} autocomplete="off" />
      <button class="primary">{t.documents.keepView}</button>
      <button type="button" onClick={leave}>{t.documents.noView}</button>
    </form>
  );
}
