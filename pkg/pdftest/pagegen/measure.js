// Fits the text into its boxes, then returns the pages and blocks with their places in points.
//
//   section.page   a page; data-optional: it is dropped if its boxes stay empty
//   data-fit       a box whose content is cut where it is full; its value names the box that takes the rest
//   data-k         a block's kind; data-f its flow, data-l its level; sup[data-m]: the mark of a footnote
(() => {
  const POINTS = 0.75;

  const isFull = (box) =>
    box.scrollHeight > box.clientHeight + 2 || box.scrollWidth > box.clientWidth + 4;

  // Cuts a block after so many characters, between words, and returns what follows.
  const cutBlock = (block, characters) => {
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    let left = characters;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (left > node.data.length) { left -= node.data.length; continue; }
      const blank = node.data.lastIndexOf(' ', left);
      const range = document.createRange();
      range.setStart(node, blank < 0 ? 0 : blank);
      range.setEnd(block, block.childNodes.length);
      const rest = block.cloneNode(false);
      rest.append(range.extractContents());
      return rest;
    }
    return null;
  };

  let blockIds = 0;
  // Splits the last block of a box so that the box holds as much of it as it can; returns the rest, or null.
  const splitLast = (box, block) => {
    const whole = block.innerHTML, length = block.textContent.length;
    let low = 0, high = length, rest = null;
    while (high - low > 8) {
      const middle = (low + high) >> 1;
      block.innerHTML = whole;
      cutBlock(block, middle);
      if (isFull(box)) high = middle; else low = middle;
    }
    block.innerHTML = whole;
    // A few words that would stand alone at the end of a column go on with the rest; nothing follows the last box.
    if (low < (box.dataset.fit ? 90 : 12) || box.dataset.fit && length - low < 60) return null;
    rest = cutBlock(block, low);
    if (!rest || isFull(box) || rest.textContent.trim() === '') { block.innerHTML = whole; return null; }
    block.dataset.id = rest.dataset.id = block.dataset.id || `b${++blockIds}`;
    rest.classList.add('cont');
    if (getComputedStyle(block).textAlign === 'justify') block.style.textAlignLast = 'justify';
    return rest;
  };

  for (const box of document.querySelectorAll('[data-fit]')) {
    const next = box.dataset.fit && document.getElementById(box.dataset.fit);
    const passOn = (element) => { element.remove(); if (next) next.prepend(element); };
    while (isFull(box) && box.lastElementChild) {
      const last = box.lastElementChild;
      if (last.hasAttribute('data-split')) {
        const rest = splitLast(box, last);
        if (rest) { if (next) next.prepend(rest); break; }
      }
      passOn(last);
    }
    while (box.lastElementChild && (next || isFull(box)) && /^(heading|title)$/.test(box.lastElementChild.dataset.k))
      passOn(box.lastElementChild);
  }
  for (const page of document.querySelectorAll('section.page[data-optional]'))
    if ([...page.querySelectorAll('[data-fit]')].every((box) => !box.firstElementChild)) page.remove();

  const sections = [...document.querySelectorAll('section.page')];
  const origins = sections.map((s) => s.getBoundingClientRect());
  const place = (page, r) => [r.left - origins[page].left, r.top - origins[page].top,
    r.right - origins[page].left, r.bottom - origins[page].top].map((v) => Math.round(v * POINTS * 100) / 100);

  // The lines of an element: rectangles of its text that stand side by side are one.
  const findLines = (element, vertical) => {
    const lines = [];
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.data.trim() || node.parentElement.closest('svg')) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const r of range.getClientRects()) {
        if (r.width < 0.5 || r.height < 0.5) continue;
        const prev = lines[lines.length - 1];
        const same = prev && (vertical
          ? Math.min(prev.right, r.right) - Math.max(prev.left, r.left) > 0.5 * Math.min(r.width, prev.right - prev.left)
            && r.top - prev.bottom < 3 * r.width && prev.top - r.bottom < 3 * r.width
          : Math.min(prev.bottom, r.bottom) - Math.max(prev.top, r.top) > 0.5 * Math.min(r.height, prev.bottom - prev.top)
            && r.left - prev.right < 3 * r.height && prev.left - r.right < 3 * r.height);
        if (same) {
          prev.left = Math.min(prev.left, r.left); prev.right = Math.max(prev.right, r.right);
          prev.top = Math.min(prev.top, r.top); prev.bottom = Math.max(prev.bottom, r.bottom);
        } else lines.push({left: r.left, top: r.top, right: r.right, bottom: r.bottom});
      }
    }
    return lines;
  };

  // The pieces of a block: its lines, divided where they go on in another column.
  const findParts = (element, page, vertical) => {
    const parts = [];
    let prev = null;
    for (const line of findLines(element, vertical)) {
      const jumps = prev && (vertical ? line.left > prev.right + 1 : line.bottom < prev.top + 1) ||
        prev && !vertical && line.left > prev.right + 6;
      if (!prev || jumps) parts.push({page: page + 1, box: null, lines: [], whole: {...line}});
      const part = parts[parts.length - 1], w = part.whole;
      part.lines.push(place(page, line));
      w.left = Math.min(w.left, line.left); w.right = Math.max(w.right, line.right);
      w.top = Math.min(w.top, line.top); w.bottom = Math.max(w.bottom, line.bottom);
      prev = line;
    }
    return parts.map(({whole, ...part}) => ({...part, box: place(page, whole)}));
  };

  const readText = (node, raw) => {
    let out = '';
    for (const child of node.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) out += child.data;
      else if (child.nodeName === 'BR') out += raw ? '\n' : ' ';
      else if (/^(DIV|TD|TH|LI)$/.test(child.nodeName)) out += ' ' + readText(child, raw) + ' ';
      else if (child.nodeName !== 'svg' && child.nodeName !== 'RT') out += readText(child, raw);
    }
    return out;
  };
  const cleanText = (node, raw) => {
    const text = readText(node, raw).replaceAll('\u00ad', '');
    return raw ? text.replace(/^\n+|\s+$/g, '') : text.replace(/\s+/g, ' ').trim();
  };
  const findMarked = (element) => [...element.querySelectorAll('sup[data-m]')].map((mark) => {
    const range = document.createRange();
    range.setStart(element, 0);
    range.setEndAfter(mark);
    return range.toString().replaceAll('\u00ad', '').split(/\s+/).pop();
  });

  const readTable = (table, page) => {
    const cells = [], taken = new Set();
    let columns = 0;
    [...table.rows].forEach((tr, row) => {
      let column = 0;
      for (const td of tr.cells) {
        while (taken.has(row + ',' + column)) column++;
        for (let r = 0; r < td.rowSpan; r++) for (let c = 0; c < td.colSpan; c++) taken.add((row + r) + ',' + (column + c));
        cells.push({row, column, row_span: td.rowSpan, col_span: td.colSpan, text: cleanText(td, false),
          box: place(page, td.getBoundingClientRect())});
        column += td.colSpan;
        columns = Math.max(columns, column);
      }
    });
    return {ruling: table.dataset.ruling || 'plain', header_rows: table.tHead ? table.tHead.rows.length : 0,
      optional: table.hasAttribute('data-optional'), rows: table.rows.length, columns, cells};
  };

  const blocks = [], byId = new Map();
  sections.forEach((section, page) => {
    for (const element of section.querySelectorAll('[data-k]')) {
      if (element.parentElement.closest('[data-k]')) continue;
      const kind = element.dataset.k, vertical = getComputedStyle(element).writingMode.startsWith('vertical');
      const block = {kind, text: cleanText(element, kind === 'code'), flow: element.dataset.f || '',
        level: Number(element.dataset.l || 0), parts: findParts(element, page, vertical)};
      if (kind === 'figure' || kind === 'table')
        block.parts = [{page: page + 1, box: place(page, element.getBoundingClientRect())}];
      if (kind === 'table') block.table = readTable(element, page);
      const marked = findMarked(element);
      if (marked.length) block.marked = marked;
      const first = element.dataset.id && byId.get(element.dataset.id);
      if (first) {
        first.text += ' ' + block.text;
        first.parts.push(...block.parts);
        if (marked.length) first.marked = (first.marked || []).concat(marked);
        continue;
      }
      if (element.dataset.id) byId.set(element.dataset.id, block);
      if (block.text || kind === 'figure') blocks.push(block);
    }
  });
  return {pages: origins.map((o) => ({width: o.width * POINTS, height: o.height * POINTS})), blocks};
})()
