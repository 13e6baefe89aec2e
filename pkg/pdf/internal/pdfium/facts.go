package pdfium

import (
	"encoding/binary"
	"errors"
	"math"
)

// PageLabel returns the label of page index, from 0.
func (d *Document) PageLabel(index int) string {
	p, size := d.in.stringBuffer()
	return d.in.readWideString(d.in.callFunction(fnPageLabel, d.handle, uint64(index), p, size) & math.MaxUint32)
}

// PermissionBits returns the permission bits of an encrypted document; all are set for any other.
func (d *Document) PermissionBits() uint32 {
	return uint32(d.in.callFunction(fnDocPermissions, d.handle))
}

// SecurityRevision is the revision of the standard security handler; negative without encryption.
func (d *Document) SecurityRevision() int { return d.in.callInt(fnSecurityRevision, d.handle) }

// Attachment is an embedded file.
type Attachment struct {
	Name, MIME, Modified string

	handle uint64
}

// AttachmentAt returns attachment i, from 0.
func (d *Document) AttachmentAt(i int) (Attachment, bool) {
	a := Attachment{handle: d.in.callFunction(fnGetAttachment, d.handle, uint64(i)) & math.MaxUint32}
	if a.handle == 0 {
		return a, false
	}
	p, size := d.in.stringBuffer()
	a.Name = d.in.readWideString(d.in.callFunction(fnAttachmentName, a.handle, p, size) & math.MaxUint32)
	a.MIME = d.in.readWideString(d.in.callFunction(fnAttachmentSubtype, a.handle, p, size) & math.MaxUint32)
	key := d.in.allocateCString("ModDate")
	defer d.in.freeMemory(key)
	a.Modified = d.in.readWideString(d.in.callFunction(fnAttachmentString, a.handle, key, p, size) & math.MaxUint32)
	return a, true
}

// AttachmentSize inflates an attachment and returns its size, -1 if it cannot be read.
func (d *Document) AttachmentSize(a Attachment) int64 {
	if !d.in.callBool(fnAttachmentFile, a.handle, 0, 0, d.in.scratch) {
		return -1
	}
	return int64(d.in.readUint32(0))
}

// ErrNoMemory says that something does not fit the module's memory, or the place it was to go to.
var ErrNoMemory = errors.New("no memory for it")

// ReadAttachment copies the bytes of an attachment to out.
func (d *Document) ReadAttachment(a Attachment, out []byte) (int, error) {
	n := d.AttachmentSize(a)
	if n < 0 {
		return 0, errors.New("the attachment cannot be read")
	}
	if n == 0 {
		return 0, nil
	}
	if n > int64(len(out)) {
		return 0, ErrNoMemory
	}
	p := d.in.allocate(int(n))
	if p == 0 {
		return 0, ErrNoMemory
	}
	defer d.in.freeMemory(p)
	if !d.in.callBool(fnAttachmentFile, a.handle, p, uint64(n), d.in.scratch) {
		return 0, errors.New("the attachment cannot be read")
	}
	return copy(out, d.in.memoryView(p, int(n))), nil
}

// Signature is a signature as the document states it.
type Signature struct {
	SubFilter, Reason, Time string
	// Ranges are the bytes that it covers, as pairs of offset and length.
	Ranges []int64
	DocMDP int
}

// SignatureAt returns signature i, from 0.
func (d *Document) SignatureAt(i int) (Signature, bool) {
	in := d.in
	handle := in.callFunction(fnSignatureObject, d.handle, uint64(i)) & math.MaxUint32
	if handle == 0 {
		return Signature{}, false
	}
	var s Signature
	p, size := in.stringBuffer()
	s.SubFilter = in.readByteString(in.callFunction(fnSignatureSubFilter, handle, p, size) & math.MaxUint32)
	s.Reason = in.readWideString(in.callFunction(fnSignatureReason, handle, p, size) & math.MaxUint32)
	s.Time = in.readByteString(in.callFunction(fnSignatureTime, handle, p, size) & math.MaxUint32)
	s.DocMDP = in.callInt(fnSignatureDocMDP, handle)
	const most = 64
	if n := in.callFunction(fnSignatureRange, handle, in.scratch, most) & math.MaxUint32; n <= most {
		b := in.memoryView(in.scratch, 4*int(n))
		for i := range int(n) {
			s.Ranges = append(s.Ranges, int64(int32(binary.LittleEndian.Uint32(b[4*i:]))))
		}
	}
	return s, true
}
