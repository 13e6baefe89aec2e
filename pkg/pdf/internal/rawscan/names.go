package rawscan

// flags says what a dictionary holds that is worth a finding. Each counts once a dictionary, however often the
// dictionary says it.
type flags uint32

const (
	hasJavaScript flags = 1 << iota
	hasLaunch
	hasURI
	hasSubmitForm
	hasRemoteGoTo
	hasImportData
	hasOpenAction
	hasOpenDestination // an open action that only scrolls
	hasAdditionalActions
	hasFileSpec     // a file specification with /EF
	hasEmbeddedFile // an embedded file's stream
	hasNameTree     // /EmbeddedFiles
	hasXFA
	hasAcroForm
	hasSignature
	hasSignatureField
	hasRichMedia
	hasEncrypt
)

// actions are the values of /S in an action dictionary (ISO 32000-1 §12.6.4).
func actionFlag(name []byte) flags {
	switch string(name) {
	case "JavaScript":
		return hasJavaScript
	case "Launch":
		return hasLaunch
	case "URI":
		return hasURI
	case "SubmitForm":
		return hasSubmitForm
	case "GoToR", "GoToE":
		return hasRemoteGoTo
	case "ImportData":
		return hasImportData
	case "Rendition", "Movie", "Sound", "RichMediaExecute":
		return hasRichMedia
	}
	return 0
}

// key is a dictionary key that matters here.
type key uint8

const (
	keyOther key = iota
	keyS
	keyType
	keySubtype
	keyFieldType
	keyFilter
	keyDecodeParms
	keyLength
	keyN
	keyFirst
	keyWidth
	keyHeight
	keyBits
	keyColorSpace
	keyImageMask
	keyPredictor
	keyColumns
	keyColors
	keyEarlyChange
	keyJS
	keyOpenAction
	keyAA
	keyEF
	keyEmbeddedFiles
	keyXFA
	keyAcroForm
	keyURI
	keyRichMediaContent
	keyEncrypt
	keyRoot
	keyID
	// keyResource stands for the subdictionaries of a resource dictionary: their keys are names that the document chose.
	keyResource
)

func parseKey(name []byte) key {
	switch string(name) {
	case "S":
		return keyS
	case "Type":
		return keyType
	case "Subtype":
		return keySubtype
	case "FT":
		return keyFieldType
	case "Filter":
		return keyFilter
	case "DecodeParms":
		return keyDecodeParms
	case "Length":
		return keyLength
	case "N":
		return keyN
	case "First":
		return keyFirst
	case "Width":
		return keyWidth
	case "Height":
		return keyHeight
	case "BitsPerComponent":
		return keyBits
	case "ColorSpace":
		return keyColorSpace
	case "ImageMask":
		return keyImageMask
	case "Predictor":
		return keyPredictor
	case "Columns":
		return keyColumns
	case "Colors":
		return keyColors
	case "EarlyChange":
		return keyEarlyChange
	}
	return parseFindingKey(name)
}

func parseFindingKey(name []byte) key {
	switch string(name) {
	case "JS":
		return keyJS
	case "OpenAction":
		return keyOpenAction
	case "AA":
		return keyAA
	case "EF":
		return keyEF
	case "EmbeddedFiles":
		return keyEmbeddedFiles
	case "XFA":
		return keyXFA
	case "AcroForm":
		return keyAcroForm
	case "URI":
		return keyURI
	case "RichMediaContent":
		return keyRichMediaContent
	case "Encrypt":
		return keyEncrypt
	case "Root":
		return keyRoot
	case "ID":
		return keyID
	case "Font", "XObject", "ExtGState", "Pattern", "Shading", "Properties", "CharProcs", "RoleMap", "ClassMap":
		return keyResource
	}
	return keyOther
}

// kind of stream, by /Type.
type streamType uint8

const (
	typeOther streamType = iota
	typeObjStm
	typeXRef
	typeEmbeddedFile
	typeMetadata
)

// maxComponents returns the most components that a colour space of that name can have.
func maxComponents(name []byte) int64 {
	switch string(name) {
	case "DeviceGray", "CalGray", "Indexed", "Separation", "G", "I":
		return 1
	case "DeviceRGB", "CalRGB", "Lab", "RGB":
		return 3
	case "DeviceN":
		return 32
	}
	return 4
}
