// A vision model's server that really reads pixels, for tests: PP-OCRv4 behind chat completions. It answers as
// DeepSeek-OCR does, a tag with a box of 0 to 999 before each line. It prints its address when it accepts requests.
import { createServer } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Ocr from "@gutenye/ocr-node";

const maxRequest = 64 << 20;
const ocr = await Ocr.create();
const dir = await mkdtemp(join(tmpdir(), "inkstream-visionserver-"));
let pages = 0;
let turn = Promise.resolve(); // one page at a time: the reader takes every core

async function readBody(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    if ((size += part.length) > maxRequest) throw new Error("a request of more than 64 MiB");
    parts.push(part);
  }
  return Buffer.concat(parts);
}

// pictureOf returns the PNG of a request.
function pictureOf(body) {
  for (const message of JSON.parse(body).messages) {
    for (const part of Array.isArray(message.content) ? message.content : []) {
      const found = /^data:image\/png;base64,(.+)$/s.exec(part.image_url?.url ?? "");
      if (found) return Buffer.from(found[1], "base64");
    }
  }
  throw new Error("a request without a picture");
}

// sizeOf returns the width and height that stand in a PNG's header.
function sizeOf(png) {
  if (png.length < 24 || png.toString("latin1", 12, 16) !== "IHDR") throw new Error("no PNG");
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
}

async function readPage(png) {
  const [width, height] = sizeOf(png);
  const path = join(dir, `${++pages}.png`);
  await writeFile(path, png);
  try {
    const lines = (await ocr.detect(path)).filter((l) => l.text.trim() !== "").map((l) => {
      const xs = l.box.map((p) => p[0]), ys = l.box.map((p) => p[1]);
      return { text: l.text.trim(), x0: Math.min(...xs), y0: Math.min(...ys), x1: Math.max(...xs), y1: Math.max(...ys) };
    });
    return inOrder(lines).map((l) => {
      const box = [[l.x0, width], [l.y0, height], [l.x1, width], [l.y1, height]];
      return `<|ref|>text<|/ref|><|det|>[[${box.map(([v, of]) => Math.round(Math.min(1, Math.max(0, v / of)) * 999)).join(", ")}]]<|/det|>\n${l.text}\n`;
    }).join("\n");
  } finally {
    await rm(path, { force: true });
  }
}

// inOrder sorts lines by rows, and within a row from left to right.
function inOrder(lines) {
  const rows = [];
  for (const line of lines.toSorted((a, b) => a.y0 + a.y1 - b.y0 - b.y1)) {
    const row = rows.at(-1), middle = (line.y0 + line.y1) / 2;
    if (row && middle < row.y1 && middle > row.y0) row.lines.push(line);
    else rows.push({ y0: line.y0, y1: line.y1, lines: [line] });
  }
  return rows.flatMap((r) => r.lines.toSorted((a, b) => a.x0 - b.x0));
}

function answer(response, asksForStream, content) {
  if (!asksForStream) {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] }));
    return;
  }
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  for (let at = 0; at < content.length; at += 200) {
    response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: content.slice(at, at + 200) } }] })}\n\n`);
  }
  response.end(`data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`);
}

const server = createServer(async (request, response) => {
  try {
    if (request.method === "GET" && request.url === "/v1/models") {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ data: [{ id: "pp-ocrv4" }] }));
      return;
    }
    if (request.method !== "POST" || request.url !== "/v1/chat/completions") {
      response.writeHead(404).end();
      return;
    }
    const body = await readBody(request);
    const png = pictureOf(body);
    const mine = turn.then(() => readPage(png));
    turn = mine.catch(() => {});
    answer(response, JSON.parse(body).stream === true, await mine);
  } catch (e) {
    if (!response.headersSent) response.writeHead(400, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ error: { message: String(e?.message ?? e) } }));
  }
});

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => rm(dir, { recursive: true, force: true }).finally(() => process.exit(0)));
}
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/v1`));
