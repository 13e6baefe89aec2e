// Package document makes documents of pages: it finds what only the whole document tells (running heads, levels of
// headings, paragraphs and tables that go on over a page break), and writes the document as text, markdown,
// JSON, tables and passages for retrieval.
//
// It works in two passes, so that memory is bounded by what a few hundred bytes say about each page, and not by the
// document's text:
//
//   - When a page has been arranged (pkg/layout), [EncodePage] stores it with its [Evidence]: a compact record of its
//     blocks and of the lines at its edges. [DecodeEvidence] reads that without decoding the page.
//   - [NewPlan] looks at the evidence of all pages, and decides. [Plan.ApplyTo] carries the decisions out on one page.
//   - The writers ([MarkdownWriter], [JSONWriter], [ChunkWriter], [Tables]) take the pages in order, one at a time,
//     and write as they go.
//
// The document as JSON, which is mostly what the stored pages have, is kept as a [JSONIndex] that makes it of them.
//
// Rules look at geometry, type and repetition, never at a document's name or origin.
package document
