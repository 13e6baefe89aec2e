// The shell: header, sign in, and the page that the address names.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { ApiError, caller, loadCaller, may, signIn, signInFailure, signInIssuer, signInWanted, signOut, sleep } from "./api";
import { address } from "./router";
import { Documents } from "./documents";
import { Batches } from "./batches";
import { DocumentPage } from "./document";
import { SearchPage } from "./search";
import { Keys, System, Webhooks } from "./admin";
import { DeadLetters } from "./deadletters";
import { Queues } from "./queues";
import { Viewer } from "./viewer";
import { Asking, KeyHelp, Notice, useTitle } from "./widgets";
import { t } from "./texts";

const themeName = "inkstream.theme";
const theme = signal(localStorage.getItem(themeName) ?? "auto");

function applyTheme() {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

function Header() {
  const path = address.value.path;
  const tab = (href: string, text: string, here: boolean) =>
    <a href={`/ui${href}`} aria-current={here ? "page" : undefined}>{text}</a>;
  return (
    <header class="top">
      <a class="brand" href="/ui/"><img src="/ui/icon.svg" alt="" width="24" height="24" /> {t.brand}</a>
      <nav aria-label={t.nav.label}>
        {tab("/", t.nav.documents, path === "/" || path.startsWith("/jobs/"))}
        {tab("/batches", t.nav.batches, path === "/batches")}
        {tab("/search", t.nav.search, path === "/search")}
        {tab("/queues", t.nav.queues, path === "/queues")}
        {tab("/deadletters", t.nav.dead, path === "/deadletters")}
        {may("admin") && caller.value?.features.auth === "keys" && tab("/keys", t.nav.keys, path === "/keys")}
        {may("admin") && tab("/webhooks", t.nav.webhooks, path === "/webhooks")}
        {tab("/system", t.nav.system, path === "/system")}
      </nav>
      <div class="row tools">
        <KeyHelp />
        <label class="theme"><span class="hidden">{t.theme.label}</span>
          <select value={theme.value} onChange={(e) => {
            theme.value = e.currentTarget.value;
            localStorage.setItem(themeName, theme.value);
            applyTheme();
          }}>
            <option value="auto">{t.theme.auto}</option>
            <option value="light">{t.theme.light}</option>
            <option value="dark">{t.theme.dark}</option>
          </select>
        </label>
        {caller.value?.credential === "session" && <button type="button" onClick={() => void signOut()}>{t.signIn.out}</button>}
      </div>
    </header>
  );
}

function SignIn() {
  const [issuer, setIssuer] = useState<string | null>(null);
  useTitle(t.signIn.title);
  useEffect(() => { signInIssuer().then(setIssuer, () => setIssuer("")); }, []);
  const next = `/ui${address.value.path}${location.search}`;
  return (
    <section class="card sign-in" aria-labelledby="sign-in-title">
      <h1 id="sign-in-title">{t.signIn.title}</h1>
      {signInFailure && <Notice kind="error">{t.signIn.failures[signInFailure] ?? t.signIn.failures.denied}</Notice>}
      {issuer && <>
        <a class="button primary" href={`/v1/session/begin?next=${encodeURIComponent(next)}`}>{t.signIn.at(issuer)}</a>
        <p class="quiet">{t.signIn.atKept}</p>
        <details><summary>{t.signIn.orKey}</summary><KeyForm /></details>
      </>}
      {issuer === "" && <KeyForm />}
    </section>
  );
}

function KeyForm() {
  const [key, setText] = useState("");
  const [error, setError] = useState("");
  const submit = async (e: Event) => {
    e.preventDefault();
    try {
      await signIn(key.trim());
    } catch (e) {
      setError(e instanceof ApiError && e.status === 401 ? t.signIn.wrong : (e as Error).message);
    }
  };
  return <>
    <p>{t.signIn.intro} <code>inkstream keys create</code>.</p>
    <form onSubmit={submit}>
      <label for="key">{t.signIn.key}</label>
      <input id="key" type="password" autocomplete="off" spellcheck={false} required value={key} aria-describedby="key-kept"
        onInput={(e) => setText(e.currentTarget.value)} />
      {error && <Notice kind="error">{error}</Notice>}
      <p id="key-kept" class="quiet">{t.signIn.kept}</p>
      <button class="primary">{t.signIn.submit}</button>
    </form>
  </>;
}

function Nothing() {
  useTitle(t.errors.nothing);
  return <section class="card"><h1>{t.errors.nothing}</h1><p><a href="/ui/">{t.errors.toDocuments}</a></p></section>;
}

function Route() {
  const { path } = address.value;
  const page = /^\/jobs\/([0-9a-z]+)\/pages\/(\d+)$/.exec(path);
  if (page) return <Viewer key={page[1]} id={page[1]!} number={Number(page[2])} />;
  const job = /^\/jobs\/([0-9a-z]+)$/.exec(path);
  if (job) return <DocumentPage key={job[1]} id={job[1]!} />;
  switch (path) {
    case "/": return <Documents />;
    case "/batches": return <Batches />;
    case "/search": return <SearchPage />;
    case "/queues": return <Queues />;
    case "/deadletters": return <DeadLetters />;
    case "/keys": return <Keys />;
    case "/webhooks": return <Webhooks />;
    case "/system": return <System />;
    default: return <Nothing />;
  }
}

function App() {
  useEffect(applyTheme, []);
  useEffect(() => {
    const abort = new AbortController();
    const load = (): Promise<void> => loadCaller().catch(async (e: ApiError) => {
      // What asks next says that the server is away, or that a key is wanted.
      if (!e.passes || e.status === 401) return undefined;
      await sleep(2000, abort.signal);
      return abort.signal.aborted ? undefined : load();
    });
    void load();
    return () => abort.abort();
  }, []);
  const wide = /\/pages\/\d+$/.test(address.value.path) && !signInWanted.value;
  return <>
    <a class="skip" href="#content">{t.skip}</a>
    <Header />
    <main id="content" tabIndex={-1} class={wide ? "wide" : ""}>{signInWanted.value ? <SignIn /> : <Route />}</main>
    <Asking />
  </>;
}

// A file that is dropped where none is taken must not make the browser leave the pages for it.
window.addEventListener("dragover", (e) => {
  if (e.defaultPrevented || !e.dataTransfer?.types.includes("Files")) return;
  e.preventDefault();
  e.dataTransfer.dropEffect = "none";
});
window.addEventListener("drop", (e) => { if (e.dataTransfer?.types.includes("Files")) e.preventDefault(); });

render(<App />, document.getElementById("app")!);
