package blob

import (
	"path"
	"strings"

	"inkstream.dev/pkg/fault"
)

const (
	// maxKeyBytes stays well under the 1,024 bytes of S3 and the 4,096 of a path.
	maxKeyBytes = 512
	// maxElementBytes is what file systems take for a name.
	maxElementBytes = 255
	// tmpElement marks keys whose blobs may be lost in a crash.
	tmpElement = "tmp"
)

// checkKey returns an INVALID_ARGUMENT fault unless key is 1 to 512 bytes of [A-Za-z0-9._/-] without empty, "." or
// ".." elements. That makes a key its own path below a folder. The message leaves the key out: a bad one may be
// anything.
func checkKey(key string) error {
	if key == "" {
		return fault.New(fault.InvalidArgument, "blob key is empty")
	}
	if len(key) > maxKeyBytes {
		return fault.New(fault.InvalidArgument, "blob key of %d bytes, want at most %d", len(key), maxKeyBytes)
	}
	for i := range len(key) {
		if !isKeyByte(key[i]) {
			return fault.New(fault.InvalidArgument, "blob key has byte %#02x at %d, want only letters, digits, and ._-/",
				key[i], i)
		}
	}
	for element := range strings.SplitSeq(key, "/") {
		switch {
		case element == "" || element == "." || element == "..":
			return fault.New(fault.InvalidArgument, "blob key has an element %q", element)
		case len(element) > maxElementBytes:
			return fault.New(fault.InvalidArgument, "blob key has an element of %d bytes, want at most %d", len(element),
				maxElementBytes)
		}
	}
	return nil
}

// checkPrefix returns an INVALID_ARGUMENT fault unless some valid key begins with prefix.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	if strings.HasSuffix(prefix, "/") || path.Base(prefix) == "." || path.Base(prefix) == ".." {
		prefix += "x" // a prefix may end within an element
	}
	return checkKey(prefix)
}

func isKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-' ||
		c == '/'
}

// IsTemporary reports whether the blob under key may be lost in a crash: whether an element of key is "tmp".
func IsTemporary(key string) bool {
	for element := range strings.SplitSeq(key, "/") {
		if element == tmpElement {
			return true
		}
	}
	return false
}

// contentTypes are those of the names that the pipeline writes. The system's own table is not asked: answers should
// not hang on what is installed.
var contentTypes = map[string]string{
	".pdf":   "application/pdf",
	".json":  "application/json",
	".jsonl": "application/jsonl",
	".txt":   "text/plain; charset=utf-8",
	".md":    "text/markdown; charset=utf-8",
	".csv":   "text/csv; charset=utf-8",
	".html":  "text/html; charset=utf-8",
	".xml":   "application/xml",
	".png":   "image/png",
	".jpg":   "image/jpeg",
	".jp2":   "image/jp2",
	".tif":   "image/tiff",
	".pgm":   "image/x-portable-graymap",
	".pb":    "application/x-protobuf",
}

// contentTypeOf returns the content type that a key's extension stands for.
func contentTypeOf(key string) string {
	if t, ok := contentTypes[path.Ext(key)]; ok {
		return t
	}
	return "application/octet-stream"
}
