package rawscan

import "inkstream.dev/pkg/pdf/internal/decode"

// maxDepth is how deeply dictionaries and arrays are followed. The engine stops at 64.
const maxDepth = 128

// maxFilters is more filters than any stream needs.
const maxFilters = 8

// maxParms is how many filters' parameters are kept.
const maxParms = 4

// attrs is what a stream's dictionary says of the stream.
type attrs struct {
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

// parm returns the decode parameters of filter i.
func (a *attrs) parm(i int) *decode.Parms {
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
	attrs attrs
	own   decode.Parms // if this is a dictionary of decode parameters
	start int64        // offset in the window
	// standard is set for an encryption dictionary of the standard handler, root and id for a trailer that has those.
	standard, root, id bool
}

// unknown is what is known of a stream without a dictionary.
var unknown = attrs{length: -1}

// tally is what all walkers of a scan add to.
type tally struct {
	counts [32]int // by bit of flags
}

func (t *tally) add(f flags) {
	for bit := 0; f != 0; bit, f = bit+1, f>>1 {
		if f&1 != 0 {
			t.counts[bit]++
		}
	}
}

// walker follows dictionaries through a run of tokens.
type walker struct {
	tally *tally
	stack [maxDepth]frame
	depth int
	// beyond counts the brackets that are open past maxDepth.
	beyond int
	// bare is set where a token is an object of its own, such as the name in "5 0 obj /JavaScript endobj".
	bare bool
	// closed is the last dictionary that ended; valid until the next token.
	closed *attrs
	// noted is called for encryption dictionaries and trailers; may be nil.
	noted func(start int64, trailer bool)
}

func newWalker(t *tally) *walker { return &walker{tally: t, closed: &unknown} }

// begin starts an indirect object. What an earlier, damaged one left open stays open, so that nothing that it holds is lost; unless it is too much.
func (k *walker) begin() {
	if k.beyond > 0 || k.depth == maxDepth {
		k.reset()
	}
	k.bare = true
}

// reset ends everything that is open.
func (k *walker) reset() {
	k.beyond = 0
	for k.depth > 0 {
		k.pop()
	}
}

func (k *walker) top() *frame {
	if k.depth == 0 || k.beyond > 0 {
		return nil
	}
	return &k.stack[k.depth-1]
}

// token takes the next token.
func (k *walker) token(t token, l *lexer) {
	f := k.top()
	switch t {
	case tokDictOpen, tokArrayOpen:
		k.open(f, t == tokArrayOpen, l.win.offset()-2)
	case tokDictClose:
		k.closeDict()
	case tokArrayClose:
		if k.beyond > 0 {
			k.beyond--
		} else if f != nil && f.array {
			k.pop()
		}
	case tokName:
		k.name(f, l.text)
	case tokKeyword:
		k.keyword(f, l.text)
	default:
		if f != nil && !f.array && f.value {
			f.value = false
			f.found(t)
			if t == tokInt {
				f.integer(l.num)
			}
		}
	}
	k.bare = false
}

func (k *walker) open(f *frame, array bool, start int64) {
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
			f.found(tokArrayOpen)
		} else {
			f.found(tokDictOpen)
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

func (k *walker) closeDict() {
	k.closed = &unknown
	if k.beyond > 0 {
		k.beyond--
		return
	}
	for k.depth > 0 && k.stack[k.depth-1].array {
		k.pop()
	}
	if k.depth > 0 {
		k.pop()
	}
}

// pop ends the innermost dictionary or array.
func (k *walker) pop() {
	k.depth--
	f := &k.stack[k.depth]
	if f.array {
		return
	}
	if k.depth > 0 {
		f.flags &^= hasEncrypt // only a trailer's counts
	}
	k.tally.add(f.flags)
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

func (k *walker) name(f *frame, text []byte) {
	switch {
	case f == nil:
		if k.bare {
			k.tally.add(action(text))
		}
	case f.array:
		if k.depth > 1 && !k.stack[k.depth-2].array {
			owner := &k.stack[k.depth-2].attrs
			switch {
			case f.under == keyFilter:
				owner.addFilter(decode.Of(text))
			case f.under == keyColorSpace && f.items == 0:
				owner.components = components(text)
			}
		}
		f.items++
	case !f.value:
		f.key = keyOf(text)
		f.value = true
		if f.key == keyFilter {
			f.attrs.nfilters, f.attrs.indirectFlt = 0, false // the last one counts
		}
	default:
		f.value = false
		f.nameValue(text)
	}
}

func (k *walker) keyword(f *frame, text []byte) {
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
		f.reference()
	}
}

func (a *attrs) addFilter(f decode.Filter) {
	if a.nfilters < maxFilters {
		a.filters[a.nfilters] = f
	}
	a.nfilters++
}

// reference corrects what the last integer was taken for: it was the first of "12 0 R".
func (f *frame) reference() {
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

// integer takes an integer as the value of the last key.
func (f *frame) integer(n int64) {
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
		f.parameter(int32(clamp(n)))
	}
}

// parameter takes an integer as the value of the last key of a dictionary of decode parameters.
func (f *frame) parameter(n int32) {
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

// nameValue takes a name as the value of the last key.
func (f *frame) nameValue(text []byte) {
	switch f.key {
	case keyS:
		f.flags |= action(text)
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
		f.attrs.addFilter(decode.Of(text))
		f.standard = f.standard || string(text) == "Standard"
	case keyColorSpace:
		f.attrs.components = components(text)
	default:
		f.found(tokName)
	}
}

// found notes that the last key has a value of that form. Keys in a resource dictionary are names of fonts and the like, and mean nothing.
func (f *frame) found(t token) {
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
