// The strip of pages. Only those in sight, and a few beside them, are elements; a document may have thousands.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Hit } from "./api";
import { pageImage } from "./images";
import { t } from "./texts";

const rowHeight = 148, beside = 3;
const horizontal = () => matchMedia("(max-width: 900px)").matches;

export function Strip({ id, count, number, hits }: { id: string; count: number; number: number; hits: Hit[] | null }) {
  const box = useRef<HTMLElement>(null);
  const [place, setPlace] = useState({ first: 0, last: 8 });
  const [across, setAcross] = useState(horizontal);
  useEffect(() => {
    const el = box.current;
    if (!el) return undefined;
    const measure = () => {
      const flat = horizontal();
      setAcross(flat);
      const from = flat ? el.scrollLeft : el.scrollTop, room = flat ? el.clientWidth : el.clientHeight;
      const first = Math.max(0, Math.floor(from / step(flat)) - beside);
      const last = Math.min(count, Math.ceil((from + room) / step(flat)) + beside);
      setPlace((p) => p.first === first && p.last === last ? p : { first, last });
    };
    measure();
    el.addEventListener("scroll", measure, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(el);
    return () => { el.removeEventListener("scroll", measure); observer.disconnect(); };
  }, [count]);
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const at = (number - 1) * step(across), room = across ? el.clientWidth : el.clientHeight, from = across ? el.scrollLeft : el.scrollTop;
    if (at >= from && at + step(across) <= from + room) return;
    const to = Math.max(0, at - room / 2 + step(across) / 2);
    el.scrollTo(across ? { left: to } : { top: to });
  }, [number, across, count]);
  const total = `${count * step(across)}px`;
  const rows = [];
  for (let i = place.first; i < Math.min(place.last, count); i++) {
    rows.push(<Thumbnail key={i} id={id} number={i + 1} here={i + 1 === number} at={i * step(across)} across={across}
      hit={hits?.some((h) => h.page === i + 1) ?? false} />);
  }
  return (
    <nav class="strip" ref={box} aria-label={t.viewer.thumbnails} tabIndex={0}>
      <div class="strip-room" style={across ? { width: total } : { height: total }}>{rows}</div>
    </nav>
  );
}

const step = (across: boolean) => across ? 84 : rowHeight;

// The tab key stops at the open page alone: past thousands of pages it would never come to what is behind the strip.
function Thumbnail({ id, number, here, at, across, hit }: { id: string; number: number; here: boolean; at: number; across: boolean; hit: boolean }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    // A strip that is scrolled fast passes pages which nothing is drawn for.
    const timer = setTimeout(() => {
      pageImage(id, number, 18, abort.signal).then((u) => { if (!abort.signal.aborted) setUrl(u); })
        .catch(() => undefined); // the number stays, which is enough to go there
    }, 120);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [id, number]);
  return (
    <a class={`thumb ${hit ? "has-hit" : ""}`} href={`/ui/jobs/${id}/pages/${number}${location.search}`} aria-current={here ? "page" : undefined}
      tabIndex={here ? 0 : -1} aria-label={t.viewer.page(number)} style={across ? { left: `${at}px` } : { top: `${at}px` }}>
      <span class="thumb-image">{url && <img src={url} alt="" draggable={false} />}</span>
      <span class="number">{number}</span>
    </a>
  );
}
