// What administrators look after: keys and webhooks; and what the server is, for everybody.
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { api, caller, type Delivery, type Key, may, type Webhook } from "./api";
import { formatBytes, formatCount, formatSeconds, formatTime } from "./format";
import { Findings, type Report } from "./findings";
import { ask, Copyable, Notice, poll, useTitle } from "./widgets";
import { t } from "./texts";

// useList loads a list, and again after act has done something.
function useList<T>(load: (abort: AbortSignal) => Promise<T[]>): { list: T[] | null; error: string; act: (what: () => Promise<unknown>) => void } {
  const [list, setList] = useState<T[] | null>(null);
  const [error, setError] = useState("");
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    load(abort.signal).then(setList).catch((e: unknown) => { if (!abort.signal.aborted) setError((e as Error).message); });
    return () => abort.abort();
  }, [turn]);
  const act = (what: () => Promise<unknown>) => {
    setError("");
    what().then(() => setTurn((n) => n + 1)).catch((e: unknown) => setError((e as Error).message));
  };
  return { list, error, act };
}

function Secret({ text, close }: { text: string; close: () => void }) {
  return (
    <div class="card secret" role="status">
      <p><strong>{t.admin.secretOnce}</strong></p>
      <Copyable text={text} label={t.admin.secret} />
      <button type="button" onClick={close}>{t.admin.secretKept}</button>
    </div>
  );
}

export function Keys() {
  useTitle(t.admin.keys);
  const { list, error, act } = useList<Key>(async (abort) => (await api.keys(abort)).keys ?? []);
  const [secret, setSecret] = useState("");
  const [name, setName] = useState("");
  const [scope, setScope] = useState("write");
  const show = (made: Promise<Key>) => made.then((k) => setSecret(k.secret));
  return <>
    <h1>{t.admin.keys}</h1>
    <p class="quiet">{t.admin.keysIntro}</p>
    {error && <Notice kind="error">{error}</Notice>}
    {secret && <Secret text={secret} close={() => setSecret("")} />}
    {may("admin") && <form class="card row" onSubmit={(e) => {
      e.preventDefault();
      act(() => show(api.makeKey({ name: name.trim(), scopes: [scope] })).then(() => setName("")));
    }}>
      <label class="field">{t.admin.keyName}<input id="key-name" value={name} maxLength={100} onInput={(e) => setName(e.currentTarget.value)} /></label>
      <label class="field">{t.admin.scope}<select value={scope} onChange={(e) => setScope(e.currentTarget.value)}>
        {["read", "write", "admin"].map((s) => <option key={s} value={s}>{t.admin.scopes[s]}</option>)}
      </select></label>
      <button class="primary">{t.admin.makeKey}</button>
    </form>}
    {list && <div class="card table-scroll" tabIndex={0}><table>
      <thead><tr><th scope="col">{t.admin.keyName}</th><th scope="col">{t.admin.id}</th><th scope="col">{t.admin.scope}</th>
        <th scope="col">{t.admin.created}</th><th scope="col">{t.admin.expires}</th><th scope="col"><span class="hidden">{t.dead.actions}</span></th></tr></thead>
      <tbody>{list.filter((k) => !k.subject).map((k) => <tr key={k.id}>
        <td>{k.name || "–"}</td><td><code>{k.id}</code></td><td>{k.scopes.join(", ")}</td>
        <td class="time">{formatTime(k.createTime)}</td><td class="time">{k.expireTime ? formatTime(k.expireTime) : t.admin.never}</td>
        <td class="actions">{may("admin") && <>
          <button type="button" class="small" onClick={() => ask({
            title: t.admin.askRotate(k.name || k.id), text: t.admin.rotateText, yes: t.admin.rotate, act: () => act(() => show(api.rotateKey(k.id))),
          })}>{t.admin.rotate}<span class="hidden"> {k.name || k.id}</span></button>
          <button type="button" class="small danger" onClick={() => ask({
            title: t.admin.askRevoke(k.name || k.id), text: t.admin.revokeText, yes: t.admin.revoke, act: () => act(() => api.revokeKey(k.id)),
          })}>{t.admin.revoke}<span class="hidden"> {k.name || k.id}</span></button>
        </>}</td>
      </tr>)}</tbody>
    </table></div>}
    {list && <People list={list.filter((k) => k.subject)} end={(k) => act(() => api.revokeKey(k.id))} />}
  </>;
}

// People are the sessions that people began at the issuer.
function People({ list, end }: { list: Key[]; end: (k: Key) => void }) {
  if (list.length === 0) return null;
  return (
    <section class="card" aria-labelledby="people"><h2 id="people">{t.admin.people}</h2>
      <div class="table-scroll" tabIndex={0} role="region" aria-labelledby="people"><table>
        <thead><tr><th scope="col">{t.admin.person}</th><th scope="col">{t.admin.scope}</th><th scope="col">{t.admin.created}</th>
          <th scope="col">{t.admin.expires}</th><th scope="col"><span class="hidden">{t.dead.actions}</span></th></tr></thead>
        <tbody>{list.map((k) => <tr key={k.id}>
          <td>{k.name}</td><td>{k.scopes.join(", ")}</td><td class="time">{formatTime(k.createTime)}</td>
          <td class="time">{k.expireTime ? formatTime(k.expireTime) : t.admin.never}</td>
          <td class="actions">{may("admin") && <button type="button" class="small danger" onClick={() => ask({
            title: t.admin.askSignOut(k.name), text: t.admin.signOutText, yes: t.admin.signOut, act: () => end(k),
          })}>{t.admin.signOut}<span class="hidden"> {k.name}</span></button>}</td>
        </tr>)}</tbody>
      </table></div>
    </section>
  );
}

export function Webhooks() {
  useTitle(t.admin.webhooks);
  const { list, error, act } = useList<Webhook>(async (abort) => (await api.webhooks(abort)).webhooks ?? []);
  const [secret, setSecret] = useState("");
  const [url, setURL] = useState("");
  return <>
    <h1>{t.admin.webhooks}</h1>
    <p class="quiet">{t.admin.webhooksIntro}</p>
    {error && <Notice kind="error">{error}</Notice>}
    {secret && <Secret text={secret} close={() => setSecret("")} />}
    {may("admin") && <form class="card row" onSubmit={(e) => {
      e.preventDefault();
      act(() => api.makeWebhook(url.trim()).then((h) => { setSecret(h.secret); setURL(""); }));
    }}>
      <label class="field grow">{t.admin.url}<input id="webhook-url" type="url" required placeholder="https://" value={url}
        onInput={(e) => setURL(e.currentTarget.value)} /></label>
      <button class="primary">{t.admin.makeWebhook}</button>
    </form>}
    {list?.length === 0 && <p class="empty">{t.admin.noWebhooks}</p>}
    {list?.map((h) => <section key={h.id} class="card" aria-label={h.url}>
      <div class="row"><h2 class="break">{h.url}</h2><span class="quiet small">{formatTime(h.createTime)}</span><span class="grow" />
        {may("admin") && <button type="button" class="danger" onClick={() => ask({
          title: t.admin.askDropHook, text: t.admin.dropHookText, yes: t.admin.dropHook, act: () => act(() => api.dropWebhook(h.id)),
        })}>{t.admin.dropHook}<span class="hidden"> {h.url}</span></button>}</div>
      <Deliveries hook={h} />
    </section>)}
  </>;
}

function Deliveries({ hook }: { hook: Webhook }) {
  const [list, setList] = useState<Delivery[]>([]);
  const [error, setError] = useState("");
  const [refusal, setRefusal] = useState(""); // of what was asked for by a button
  useEffect(() => poll(async (abort) => {
    setList((await api.deliveries(hook.id, abort)).deliveries ?? []);
    return 5000;
  }, setError), [hook.id]);
  if (list.length === 0 && !error) return <p class="quiet">{t.admin.noDeliveries}</p>;
  return <>
    {(refusal || error) && <Notice kind="error">{refusal || error}</Notice>}
    <div class="table-scroll" tabIndex={0}><table>
      <thead><tr><th scope="col">{t.dead.time}</th><th scope="col">{t.dead.job}</th><th scope="col" class="number">{t.admin.attempt}</th>
        <th scope="col">{t.admin.answer}</th><th scope="col" class="number">{t.documents.took}</th><th scope="col"><span class="hidden">{t.dead.actions}</span></th></tr></thead>
      <tbody>{list.slice(0, 20).map((d) => <tr key={d.id + d.time}>
        <td class="time">{formatTime(d.time)}</td><td><a href={`/ui/jobs/${d.job}`}><code>{d.job}</code></a></td><td class="number">{d.attempt}</td>
        <td><span class={`pill ${d.error ? "failed" : "succeeded"}`}>{d.status || t.admin.noAnswer}</span>
          {d.error && <span class="reason">{d.error}{d.retryTime && `; ${t.admin.nextTry} ${formatTime(d.retryTime)}`}</span>}</td>
        <td class="number">{formatSeconds(d.seconds)}</td>
        <td class="actions">{may("admin") && <button type="button" class="small" onClick={() => {
          api.redeliver(hook.id, d.id).then(() => setRefusal("")).catch((e: unknown) => setRefusal((e as Error).message));
        }}>{t.admin.redeliver}<span class="hidden"> {d.id}</span></button>}</td>
      </tr>)}</tbody>
    </table></div>
  </>;
}

export function System() {
  useTitle(t.admin.system);
  const [report, setReport] = useState<Report | null>(null);
  const [clock, setClock] = useState(0);
  const [error, setError] = useState("");
  useEffect(() => poll(async (abort) => {
    // A server that is not ready says so with its report in the answer.
    const answer = await fetch("/readyz", { signal: abort });
    const told = Date.parse(answer.headers.get("Date") ?? "");
    if (!Number.isNaN(told)) setClock(Math.abs(Date.now() - told) / 1000);
    setReport(await answer.json() as Report);
    return 5000;
  }, (wrong) => setError(wrong && t.errors.unreachable)), []);
  const c = caller.value;
  if (!c) return error ? <Notice kind="error">{error}</Notice> : <p class="quiet">{t.loading}</p>;
  const f = c.features;
  const limit = (n: number, text: string) => n ? text : t.admin.noLimit;
  return <>
    <h1>{t.admin.system}</h1>
    {error && <Notice kind="error">{error}</Notice>}
    <div class="columns even">
      <Facts title={t.admin.you} rows={[
        [t.admin.tenant, c.tenant], [t.admin.caller, <code>{c.name}</code>], [t.admin.scope, c.scopes.join(", ")],
        [t.admin.expires, c.expireTime ? formatTime(c.expireTime) : t.admin.never],
        [t.admin.maxJobs, limit(c.maxJobs, formatCount(c.maxJobs))],
        [t.admin.bytesPerDay, limit(Number(c.maxBytesPerDay), formatBytes(Number(c.maxBytesPerDay)))],
      ]} />
      <Facts title={t.admin.server} rows={[
        [t.admin.version, f.version || "–"], [t.admin.auth, f.auth], [t.admin.readOnly, f.readOnly ? t.admin.yes : t.admin.no],
        [t.admin.index, f.index ? t.admin.yes : t.admin.no], [t.admin.resumable, f.resumable ? t.admin.yes : t.admin.no],
        [t.admin.maxUpload, formatBytes(Number(f.maxUploadBytes))],
        [t.admin.retention, Number(f.retentionSeconds) ? formatSeconds(Number(f.retentionSeconds)) : t.admin.never],
        [t.admin.durability, f.durability || "–"],
      ]} />
    </div>
    {report && <Findings report={report} features={f} clock={clock} />}
    {report && <section class="card" aria-labelledby="ready"><div class="row"><h2 id="ready">{t.admin.health}</h2></div>
      <pre class="report" tabIndex={0} aria-label={t.admin.health}>{JSON.stringify(report, null, 2)}</pre></section>}
    <p><a href="/docs">{t.nav.api}</a></p>
  </>;
}

function Facts({ title, rows }: { title: string; rows: [string, ComponentChildren][] }) {
  return (
    <section class="card" aria-label={title}><h2>{title}</h2>
      <dl class="wide-terms">{rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
    </section>
  );
}
