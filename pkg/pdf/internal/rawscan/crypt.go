package rawscan

import (
	"errors"
	"io"
	"slices"

	"inkstream.dev/pkg/pdf/internal/decode"
	"inkstream.dev/pkg/pdf/internal/structure"
)

const (
	// maxNoted is how many encryption dictionaries and trailers are tried; an honest document has one of the first and
	// one of the latter a revision.
	maxNoted = 16
	// maxDict bounds the bytes that are read of each.
	maxDict = 8 << 10
)

// noteOffset remembers where an encryption dictionary or a trailer begins: the last ones, which are the ones that
// count.
func (s *scanner) noteOffset(start int64, trailer bool) {
	list := &s.dicts
	if trailer {
		list = &s.trailers
	}
	*list = append(*list, s.origin+start)
	if len(*list) > maxNoted {
		*list = (*list)[1:]
	}
}

// openSecurity returns what decrypts the document that has been gone through, or nil. Only a document that opens
// without a password has it: such a one is encrypted in name only, and common; what its streams hold must not escape
// the scan.
func (s *scanner) openSecurity() *structure.Security {
	ids := [][]byte{nil}
	for _, off := range s.trailers {
		if id := structure.FirstFileID(s.readDictAt(off)); id != nil {
			ids = append(ids, id)
		}
	}
	for _, off := range slices.Backward(s.dicts) {
		dict := s.readDictAt(off)
		for _, id := range slices.Backward(ids) {
			if d, err := structure.OpenSecurity(dict, id, ""); err == nil && d.EncryptsStreams() {
				return d
			}
		}
	}
	return nil
}

func (s *scanner) readDictAt(off int64) structure.Value {
	b := make([]byte, min(maxDict, s.size-off))
	n, err := s.file.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return structure.Value{}
	}
	return structure.ParseDict(b[:n])
}

// encryptsStream reports whether a stream is encrypted at all. A filter of type Crypt stands for an exception, in
// practice the identity.
func encryptsStream(d *structure.Security, a *streamAttrs) bool {
	switch {
	case a.kind == typeXRef, a.kind == typeMetadata && !d.Metadata:
		return false
	}
	return a.nfilters == 0 || a.filters[0] != decode.Crypt
}
