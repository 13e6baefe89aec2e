package rawscan

import "inkstream.dev/pkg/pdf/internal/decode"

// maxDepth is how deeply dictionaries and arrays are followed. The engine stops at 64.
const maxDepth = 128

// maxFilters is more filters than any stream needs.
const maxFilters = 8

// maxParms is how many filters' parameters are kept.
const maxParms = 4

// streamAttrs is what a stream's dictionary says of the stream.
type streamAttrs struct {
	kind         streamType
	image, mask  bool
	length       int64 // -1 where it is not given, or is a reference
	n, first     int64
	width        int64
	height       int64
	bits         int64
	components   int64
	indirectSize bool // the width or height is a reference
	filters      [maxFilters]decode.Filter
	nfilters     int // may exceed maxFilters
	indirectFlt  bool
	parms        [maxParms]decode.Parms
}

// decodeParms returns the decode parameters of filter i.
func (a *streamAttrs) decodeParms(i int) *decode.Parms {
	if i < maxParms {
		return &a.parms[i]
	}
	return &decode.Parms{}
}

// frame is an open dictionary or array.
type frame struct {
	array bool
	value bool // a dictionary's key has been read, its value has not
	// key is a dictionary's last key; for an array, the key that it is the value of.
	key key
	// under is the key of the enclosing dictionary that this one is, or is in, the value of.
	under key
	items int // of an array
	flags flags
	attrs streamAttrs
	own   decode.Parms // if this is a dictionary of decode parameters
	start int64        // offset in the window
	// standard is set for an encryption dictionary of the standard handler, root and id for a trailer that has those.
	standard, root, id bool
}

// unknownStream is what is known of a stream without a dictionary.
var unknownStream = streamAttrs{length: -1}

// findingTally is what all walkers of a scan add to.
type findingTally struct {
	counts [32]int // by bit of flags
}

func (t *findingTally) addFlags(f flags) {
	for bit := 0; f != 0; bit, f = bit+1, f>>1 {
		if f&1 != 0 {
			t.counts[bit]++
		}
	}
}

// dictWalker follows dictionaries through a run of tokens.
type dictWalker struct {
	tally *findingTally
	stack [maxDepth]frame
	depth int
	// beyond counts the brackets that are open past maxDepth.
	beyond int
	// topLevel is set where a token is an object of its own, such as the name in "5 0 obj /JavaScript endobj".
	topLevel bool
	// closed is the last dictionary that ended; valid until the next token.
	closed *streamAttrs
	// noted is called for encryption dictionaries and trailers; may be nil.
	noted func(start int64, trailer bool)
}

func newDictWalker(t *findingTally) *dictWalker { return &dictWalker{tally: t, closed: &unknownStream} }

// beginObject starts an indirect object. What an earlier, damaged one left open stays open, so that nothing that it
// holds is lost; unless it is too much.
func (k *dictWalker) beginObject() {
	if k.beyond > 0 || k.depth == maxDepth {
		k.closeFrames()
	}
	k.topLevel = true
}

// closeFrames ends everything that is open.
func (k *dictWalker) closeFrames() {
	k.beyond = 0
	for k.depth > 0 {
		k.popFrame()
	}
}

func (k *dictWalker) topFrame() *frame {
	if k.depth == 0 || k.beyond > 0 {
		return nil
	}
	return &k.stack[k.depth-1]
}

// takeToken takes the next token.
func (k *dictWalker) takeToken(t token, l *lexer) {
	f := k.topFrame()
	switch t {
	case tokDictOpen, tokArrayOpen:
		k.pushFrame(f, t == tokArrayOpen, l.win.nextOffset()-2)
	case tokDictClose:
		k.closeDict()
	case tokArrayClose:
		if k.beyond > 0 {
			k.beyond--
		} else if f != nil && f.array {
			k.popFrame()
		}
	case tokName:
		k.takeName(f, l.text)
	case tokKeyword:
		k.takeKeyword(f, l.text)
	default:
		if f != nil && !f.array && f.value {
			f.value = false
			f.noteValue(t)
			if t == tokInt {
				f.takeInteger(l.num)
			}
		}
	}
	k.topLevel = false
}

func (k *dictWalker) pushFrame(f *frame, array bool, start int64) {
	if k.beyond > 0 || k.depth == maxDepth {
		k.beyond++
		return
	}
	under := keyOther
	switch {
	case f == nil:
	case f.array:
		under = f.under
		f.items++
	case f.value:
		under = f.key
		f.value = false
		if array {
			f.noteValue(tokArrayOpen)
		} else {
			f.noteValue(tokDictOpen)
		}
	}
	next := &k.stack[k.depth]
	k.depth++
	*next = frame{array: array, under: under, key: under, start: start}
	next.attrs.length = -1
	if under == keyDecodeParms {
		next.own = decode.DefaultParms
	}
}

func (k *dictWalker) closeDict() {
	k.closed = &unknownStream
	if k.beyond > 0 {
		k.beyond--
		return
	}
	for k.depth > 0 && k.stack[k.depth-1].array {
		k.popFrame()
	}
	if k.depth > 0 {
		k.popFrame()
	}
}

// popFrame ends the innermost dictionary or array.
func (k *dictWalker) popFrame() {
	k.depth--
	f := &k.stack[k.depth]
	if f.array {
		return
	}
	if k.depth > 0 {
		f.flags &^= hasEncrypt // only a trailer's counts
	}
	k.tally.addFlags(f.flags)
	k.closed = &f.attrs
	if k.noted != nil && (f.standard || f.root && f.id) {
		k.noted(f.start, !f.standard)
	}
	if f.under != keyDecodeParms || k.depth == 0 {
		return
	}
	owner, at := &k.stack[k.depth-1], 0
	if owner.array && k.depth > 1 {
		owner, at = &k.stack[k.depth-2], owner.items-1
	}
	if !owner.array && at >= 0 && at < maxParms {
		owner.attrs.parms[at] = f.own
	}
}

func (k *dictWalker) takeName(f *frame, text []byte) {
	switch {
	case f == nil:
		if k.topLevel {
			k.tally.addFlags(actionFlag(text))
		}
	case f.array:
		if k.depth > 1 && !k.stack[k.depth-2].array {
			owner := &k.stack[k.depth-2].attrs
			switch {
			case f.under == keyFilter:
				owner.addFilter(decode.ParseFilter(text))
			case f.under == keyColorSpace && f.items == 0:
				owner.components = maxComponents(text)
			}
		}
		f.items++
	case !f.value:
		f.key = parseKey(text)
		f.value = true
		if f.key == keyFilter {
			f.attrs.nfilters, f.attrs.indirectFlt = 0, false // the last one counts
		}
	default:
		f.value = false
		f.takeNameValue(text)
	}
}

func (k *dictWalker) takeKeyword(f *frame, text []byte) {
	if f == nil {
		return
	}
	if f.array {
		if string(text) == "null" {
			f.items++
		}
		return
	}
	if f.value {
		f.value = false
		f.attrs.mask = f.attrs.mask || f.key == keyImageMask && string(text) == "true"
		return
	}
	if string(text) == "R" {
		f.correctReference()
	}
}

func (a *streamAttrs) addFilter(f decode.Filter) {
	if a.nfilters < maxFilters {
		a.filters[a.nfilters] = f
	}
	a.nfilters++
}

// correctReference corrects what the last integer was taken for: it was the first of "12 0 R".
func (f *frame) correctReference() {
	switch f.key {
	case keyLength:
		f.attrs.length = -1
	case keyWidth, keyHeight:
		f.attrs.indirectSize = true
	case keyFilter:
		f.attrs.indirectFlt = true
	case keyColorSpace:
		f.attrs.components = 8
	}
}

// takeInteger takes an integer as the value of the last key.
func (f *frame) takeInteger(n int64) {
	a := &f.attrs
	switch f.key {
	case keyLength:
		a.length = n
	case keyN:
		a.n = n
	case keyFirst:
		a.first = n
	case keyWidth:
		a.width = max(a.width, n) // whichever a reader takes
	case keyHeight:
		a.height = max(a.height, n)
	case keyBits:
		a.bits = max(a.bits, n)
	}
	if f.under == keyDecodeParms {
		f.takeParameter(int32(clampToInt31(n)))
	}
}

// takeParameter takes an integer as the value of the last key of a dictionary of decode parameters.
func (f *frame) takeParameter(n int32) {
	switch f.key {
	case keyPredictor:
		f.own.Predictor = n
	case keyColumns:
		f.own.Columns = n
	case keyColors:
		f.own.Colors = n
	case keyBits:
		f.own.Bits = n
	case keyEarlyChange:
		f.own.LateChange = n == 0
	}
}

// takeNameValue takes a name as the value of the last key.
func (f *frame) takeNameValue(text []byte) {
	switch f.key {
	case keyS:
		f.flags |= actionFlag(text)
	case keyType:
		switch string(text) {
		case "ObjStm":
			f.attrs.kind = typeObjStm
		case "XRef":
			f.attrs.kind = typeXRef
		case "Metadata":
			f.attrs.kind = typeMetadata
		case "EmbeddedFile":
			f.attrs.kind = typeEmbeddedFile
			f.flags |= hasEmbeddedFile
		case "Sig", "DocTimeStamp":
			f.flags |= hasSignature
		}
	case keySubtype:
		switch string(text) {
		case "Image":
			f.attrs.image = true
		case "RichMedia", "Screen", "Movie", "Sound", "3D":
			f.flags |= hasRichMedia
		}
	case keyFieldType:
		if string(text) == "Sig" {
			f.flags |= hasSignatureField
		}
	case keyFilter:
		f.attrs.addFilter(decode.ParseFilter(text))
		f.standard = f.standard || string(text) == "Standard"
	case keyColorSpace:
		f.attrs.components = maxComponents(text)
	default:
		f.noteValue(tokName)
	}
}

// noteValue notes that the last key has a value of that form. Keys in a resource dictionary are names of fonts and
// the like, and mean nothing.
func (f *frame) noteValue(t token) {
	if f.under == keyResource {
		return
	}
	switch f.key {
	case keyRoot:
		f.root = true
	case keyID:
		f.id = true
	}
	name, array, dict := t == tokName, t == tokArrayOpen, t == tokDictOpen
	switch {
	case f.key == keyJS && !name:
		f.flags |= hasJavaScript
	case f.key == keyOpenAction:
		f.flags |= hasOpenAction
		if array {
			f.flags |= hasOpenDestination
		}
	case f.key == keyAA && !name && !array:
		f.flags |= hasAdditionalActions
	case f.key == keyEF && !name && !array:
		f.flags |= hasFileSpec
	case f.key == keyEmbeddedFiles && !name:
		f.flags |= hasNameTree
	case f.key == keyXFA && !name:
		f.flags |= hasXFA
	case f.key == keyAcroForm && !name && !array:
		f.flags |= hasAcroForm
	case f.key == keyURI && !name && !dict && !array: // in a catalog it is a dictionary with the base of all links
		f.flags |= hasURI
	case f.key == keyRichMediaContent && !name:
		f.flags |= hasRichMedia
	case f.key == keyEncrypt && !name && !array:
		f.flags |= hasEncrypt
	}
}
