package rawscan

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math/bits"
	"strconv"

	"inkstream.dev/pkg/pdf/internal/decode"
	"inkstream.dev/pkg/pdf/internal/structure"
	"inkstream.dev/pkg/pdf/internal/syntax"
)

const (
	// maxHidden is how many objects inside strings and comments are looked at, and hiddenSize how much of each.
	maxHidden  = 4096
	hiddenSize = 64 << 10
)

var (
	endstreamWord = []byte("endstream")
	trailerWord   = []byte("trailer")
)

// scanner goes through the file.
type scanner struct {
	ctx    context.Context //nolint:containedctx // of the one scan that it is made for
	file   io.ReaderAt
	size   int64
	budget budget
	chain  decoderChain

	win    *window
	origin int64 // offset in the file at which win begins
	walk   *dictWalker
	tally  findingTally

	objWin  *window // over object streams
	objWalk *dictWalker

	// number and generation are those of the object at hand; decrypt is nil where streams are not encrypted.
	number, generation int64
	decrypt            *structure.Security
	dicts, trailers    []int64 // offsets of encryption dictionaries and trailers

	hidden     []int64 // offsets of objects in strings and comments
	incomplete bool

	objects, streams, objStreams, opaque int64
}

// scanFile goes through the file from front to back, then through what lies hidden in strings and comments.
func (s *scanner) scanFile() error {
	s.chain.budget = &s.budget
	s.walk.noted = s.noteOffset
	lex := &lexer{win: s.win, hidden: s.addHidden}
	inObject := s.findNext()
	for inObject {
		inObject = s.followObject(lex, true) || s.findNext()
	}
	s.walk.closeFrames()
	if s.win.err != nil {
		return s.win.err
	}
	for _, off := range s.hidden {
		s.origin = off
		s.win.resetSource(io.NewSectionReader(s.file, off, min(hiddenSize, s.size-off)))
		s.number, s.generation = s.readHeadBefore(off)
		s.beginObject()
		s.followObject(&lexer{win: s.win}, false)
		s.walk.closeFrames()
		if s.win.err != nil {
			return s.win.err
		}
	}
	return s.ctx.Err()
}

func (s *scanner) addHidden(off int64) {
	if len(s.hidden) == maxHidden {
		s.incomplete = true
		return
	}
	s.hidden = append(s.hidden, off)
}

// findNext finds the next object or trailer and stops after that word. It reports whether there is one. Between
// objects nothing is lexed: what looks like a string or a comment there may be a piece of binary data.
func (s *scanner) findNext() bool {
	w := s.win
	for {
		chunk := w.buf[w.pos:w.end]
		i := bytes.Index(chunk, objWord)
		before := chunk
		if i >= 0 {
			before = chunk[:i]
		}
		if t := bytes.Index(before, trailerWord); t >= 0 {
			w.pos += t + len(trailerWord)
			return true
		}
		if i < 0 {
			w.pos = max(w.pos, w.end-lookBack/2) // the words may be torn
			if !w.readMore() {
				return false
			}
			continue
		}
		at := w.pos + i
		w.pos = at + len(objWord)
		// A comment may stand between the numbers and the word.
		if at > 0 && syntax.Class[w.buf[at-1]] == syntax.White {
			s.number, s.generation = parseObjectHead(w.buf[:at])
			s.beginObject()
			return true
		}
	}
}

func (s *scanner) beginObject() {
	s.objects++
	s.walk.beginObject()
}

// parseObjectHead returns the number and generation of the object whose head b ends in, but for the word obj.
func parseObjectHead(b []byte) (number, generation int64) {
	fields := bytes.Fields(b[max(0, len(b)-lookBack):])
	if n := len(fields); n >= 2 {
		// What is no number becomes 0: then nothing of the object can be decrypted, here or in an engine.
		number, _ = strconv.ParseInt(string(trailingDigits(fields[n-2])), 10, 64)
		generation, _ = strconv.ParseInt(string(fields[n-1]), 10, 64)
	}
	return number, generation
}

func trailingDigits(b []byte) []byte {
	i := len(b)
	for i > 0 && b[i-1] >= '0' && b[i-1] <= '9' {
		i--
	}
	return b[i:]
}

// readHeadBefore is head for an object whose head ends at an offset, with the word obj.
func (s *scanner) readHeadBefore(off int64) (number, generation int64) {
	off -= int64(len(objWord))
	b := make([]byte, min(off, lookBack))
	if _, err := s.file.ReadAt(b, off-int64(len(b))); err != nil {
		return 0, 0
	}
	return parseObjectHead(b)
}

// followObject follows the tokens of an object up to its end or that of its stream. It reports whether another object
// has begun in the stream's body. Where follow is not set, the stream's body is only decoded.
func (s *scanner) followObject(lex *lexer, follow bool) bool {
	var last, before token
	var n, m int64 // the last two integers
	for {
		t := lex.nextToken()
		if t == tokInt {
			n, m = m, lex.num
		}
		switch t {
		case tokEOF:
			return false
		case tokKeyword:
			switch word := string(lex.text); {
			case word == "obj":
				if before == tokInt && last == tokInt {
					s.number, s.generation = n, m
					s.beginObject()
				}
				t = tokEOF // no token
			case word == "stream" && last == tokDictClose:
				if follow {
					return s.passStream(s.walk.closed)
				}
				s.checkHiddenStream(s.walk.closed)
				return false
			case bytes.HasPrefix(lex.text, []byte("endobj")), word == "xref", word == "startxref":
				if s.walk.depth == 0 || !follow {
					return false
				}
				s.walk.takeToken(t, lex)
			default:
				s.walk.takeToken(t, lex)
			}
		default:
			s.walk.takeToken(t, lex)
		}
		before, last = last, t
	}
}

// passStream looks into the stream that begins here, and passes it.
func (s *scanner) passStream(a *streamAttrs) bool {
	s.skipLineEnd()
	start := s.win.nextOffset()
	length := s.trustedLength(a, start)
	s.checkStream(a, start, length)
	if length < 0 {
		return s.skipBody(-1)
	}
	return s.skipBody(start + length)
}

// checkHiddenStream looks into a stream of an object that lies in a string or comment.
func (s *scanner) checkHiddenStream(a *streamAttrs) {
	s.skipLineEnd()
	start := s.origin + s.win.nextOffset()
	s.checkStream(a, start, s.trustedLength(a, start))
}

// skipLineEnd passes the line end after the word stream.
func (s *scanner) skipLineEnd() {
	w := s.win
	w.ensureBytes(lookAhead)
	i := w.pos
	for i < w.end && i < w.pos+16 && (w.buf[i] == ' ' || w.buf[i] == '\t') {
		i++
	}
	from := i
	if i < w.end && w.buf[i] == '\r' {
		i++
	}
	if i < w.end && w.buf[i] == '\n' {
		i++
	}
	if i > from {
		w.pos = i
	}
}

// trustedLength returns the stream's length if its dictionary gives it and the word endstream follows there, else -1.
func (s *scanner) trustedLength(a *streamAttrs, start int64) int64 {
	if a.length < 0 || a.length > s.size-start {
		return -1
	}
	var b [32]byte
	n, err := s.file.ReadAt(b[:], start+a.length)
	if err != nil && !errors.Is(err, io.EOF) {
		return -1
	}
	if !bytes.HasPrefix(bytes.TrimLeft(b[:n], "\x00\t\n\f\r "), endstreamWord) {
		return -1
	}
	return a.length
}

// skipBody passes a stream's body, up to end or, where that is negative, the word endstream. It stops early, and
// reports so, after the head of an object in the body: a cross-reference table may point there.
func (s *scanner) skipBody(end int64) bool {
	w := s.win
	for {
		chunk := w.buf[w.pos:w.end]
		ends := end >= 0 && end <= w.base+int64(w.end)
		next := -1
		switch {
		case ends:
			chunk = w.buf[w.pos:max(w.pos, int(end-w.base))]
			next = w.pos + len(chunk)
		case end < 0:
			if i := bytes.Index(chunk, endstreamWord); i >= 0 {
				chunk = chunk[:i]
				next = w.pos + i + len(endstreamWord)
			}
		}
		if i := findObject(w.buf[:w.pos+len(chunk)], w.pos); i >= 0 {
			s.number, s.generation = parseObjectHead(w.buf[:i-len(objWord)])
			w.pos = i
			s.beginObject()
			return true
		}
		if next >= 0 {
			w.pos = next
			return false
		}
		w.pos = max(w.pos, w.end-lookBack/2)
		if !w.readMore() {
			w.pos = w.end
			return false
		}
	}
}

// findObject returns the index after the head of the first object in buf[from:], or -1.
func findObject(buf []byte, from int) int {
	for {
		i := bytes.Index(buf[from:], objWord)
		if i < 0 {
			return -1
		}
		from += i + len(objWord)
		if endsInObjectNumber(buf[:from-len(objWord)]) {
			return from
		}
	}
}

// checkStream decodes a stream, to see what it inflates to and, if it is an object stream, what it holds. A negative
// length is one that is not known: decoders know their own end, and what stands before it may be the word endstream
// in a stored block.
func (s *scanner) checkStream(a *streamAttrs, start, length int64) {
	s.streams++
	objects := a.kind == typeObjStm || a.n > 0 && a.first > 0
	if objects {
		s.objStreams++
	}
	if s.budget.bomb != "" {
		s.incomplete = true
		return
	}
	if a.nfilters > maxFilters {
		_ = s.budget.reportBomb("filter_chain: %d filters on one stream", a.nfilters)
		return
	}
	stored := length
	if length < 0 {
		stored = s.size - start
	}
	var plain int64
	if a.image && a.kind == typeOther && !objects {
		var err error
		if plain, err = s.budget.checkImageSize(a, func() int64 { return s.storedLength(start, length) }); err != nil {
			return
		}
		if plain > 0 && a.nfilters == 1 && s.budget.images > imageSample {
			return
		}
	}
	if a.nfilters == 0 && !a.indirectFlt && !objects {
		return
	}
	raw := s.rawReader(start, stored, length >= 0)
	if s.decrypt != nil && encryptsStream(s.decrypt, a) {
		raw = s.decrypt.StreamReader(raw, int(s.number), int(s.generation))
	}
	r, complete := s.chain.openStream(a, raw, plain)
	switch {
	case objects && complete:
		s.followObjectStream(a, r)
	case s.chain.n > 0:
		s.chain.readToEnd(r)
	}
	if objects && !complete {
		s.opaque++
	}
	if plain > 0 && s.chain.n > 0 {
		s.budget.images += s.chain.stages[s.chain.n-1].out
	}
	_ = s.chain.closeStream() // a bomb is in the budget, the context's end in the context
}

// storedLength returns the stream's length in the file, looking for its end where that is not known.
func (s *scanner) storedLength(start, length int64) int64 {
	if length >= 0 {
		return length
	}
	section := io.NewSectionReader(s.file, start, s.size-start)
	buf := make([]byte, 64<<10)
	kept := 0
	for off := start; ; {
		n, err := section.Read(buf[kept:])
		s.budget.fed += int64(n) // many images that end nowhere must not read the file over and over
		if i := bytes.Index(buf[:kept+n], endstreamWord); i >= 0 {
			return off + int64(i) - start
		}
		if err != nil || s.budget.checkOutput(0, 0, 0) != nil {
			return s.size - start
		}
		keep := min(kept+n, len(endstreamWord)-1)
		off += int64(kept + n - keep)
		copy(buf, buf[kept+n-keep:kept+n])
		kept = keep
	}
}

// rawReader returns a reader of the stream's bytes; of the window's, if it holds them all.
func (s *scanner) rawReader(start, length int64, known bool) io.Reader {
	w := s.win
	if from := start - s.origin - w.base; known && from >= 0 && from+length <= int64(w.end) {
		return bytes.NewReader(w.buf[from : from+length])
	}
	return io.NewSectionReader(s.file, start, length)
}

// followObjectStream follows the objects in an object stream.
func (s *scanner) followObjectStream(a *streamAttrs, r io.Reader) {
	last := min(a.nfilters, maxFilters) - 1
	if last >= 0 && a.decodeParms(last).Predictor > 1 {
		if r = decode.UndoPredictor(bufio.NewReader(r), a.decodeParms(last)); r == nil {
			s.opaque++
			return
		}
	}
	if s.objWin == nil {
		s.objWin = newWindow(s.ctx, r)
		s.objWalk = newDictWalker(&s.tally)
	} else {
		s.objWin.resetSource(r)
	}
	lex := &lexer{win: s.objWin}
	first := lex.nextToken()
	for t := first; t != tokEOF; t = lex.nextToken() {
		s.objWalk.topLevel = true
		s.objWalk.takeToken(t, lex)
	}
	s.objWalk.closeFrames()
	if first == tokEOF || s.objWin.err != nil && s.chain.failed == nil {
		s.opaque++
		return
	}
	// Each object takes two numbers in the head alone.
	s.objects += max(0, min(a.n, s.objWin.nextOffset()/4))
}

// buildReport puts together what was found.
func (s *scanner) buildReport() Report {
	b := &s.budget
	r := Report{
		Counts: map[string]int{}, Objects: s.objects, Streams: s.streams, ObjectStreams: s.objStreams,
		OpaqueObjectStreams: s.opaque,
		InflatedBytes:       b.work, MaxRatio: b.ratio, Bomb: b.bomb != "", BombDetail: b.bomb, Incomplete: s.incomplete,
	}
	n := func(f flags) int { return s.tally.counts[bits.TrailingZeros32(uint32(f))] }
	r.Encrypted = n(hasEncrypt) > 0
	r.OpenDestination = n(hasOpenAction) > 0 && n(hasOpenAction) == n(hasOpenDestination)
	embedded := max(n(hasEmbeddedFile), n(hasFileSpec))
	if embedded == 0 && n(hasNameTree) > 0 {
		embedded = 1
	}
	for kind, count := range map[string]int{
		JavaScript:        n(hasJavaScript),
		LaunchAction:      n(hasLaunch),
		URIAction:         n(hasURI),
		SubmitFormAction:  n(hasSubmitForm),
		RemoteGoToAction:  n(hasRemoteGoTo),
		ImportDataAction:  n(hasImportData),
		OpenAction:        n(hasOpenAction),
		AdditionalActions: n(hasAdditionalActions),
		EmbeddedFile:      embedded,
		XFA:               n(hasXFA),
		AcroForm:          n(hasAcroForm),
		Signature:         max(n(hasSignature), n(hasSignatureField)),
		RichMedia:         n(hasRichMedia),
	} {
		if count > 0 {
			r.Counts[kind] = count
		}
	}
	return r
}
