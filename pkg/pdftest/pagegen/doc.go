// Package pagegen generates documents with known contents from a seed: pages of many families of layout, typeset by
// real typesetters (Chromium prints HTML, LuaLaTeX sets LaTeX, LibreOffice exports OpenDocument), born-digital or as degraded
// scans. The same family and seed give the same document wherever the same fonts and typesetters are installed, but for the
// date that LibreOffice writes into its files.
//
// The truth of a document ([Document]) says what stands where: blocks with their kind, text, reading order, boxes and
// lines, the cells of tables, the levels of headings. It never depends on reading the PDF: text comes from the source
// and places come from the typesetter, LibreOffice's of where blocks begin and end alone.
//
// [Generator] makes documents, [Families] lists what there is, and [SplitFamilies] divides the families for training, so
// that what is learnt on some is measured on others.
package pagegen
