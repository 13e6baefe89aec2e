package job

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Manifest is the note beside a stored document that says which job it belongs to. The reconciler makes the job's record from it, should a
// crash come between the two.
type Manifest struct {
	Tenant         string    `json:"tenant"`
	Job            ID        `json:"job"`
	Filename       string    `json:"filename,omitempty"`
	Size           uint32    `json:"size"`
	SHA256         string    `json:"sha256"`
	Options        Options   `json:"options"`
	IdempotencyKey string    `json:"idempotencyKey,omitempty"`
	CreateTime     time.Time `json:"createTime"`
	ExpireTime     time.Time `json:"expireTime,omitzero"`
}

// Record returns the record that the manifest's job starts with.
func (m *Manifest) Record() *Record {
	return &Record{
		ID: m.Job, Tenant: m.Tenant, Run: 1, State: Pending, Options: m.Options, Filename: m.Filename, Size: m.Size, SHA256: m.SHA256,
		CreateTime: m.CreateTime, ExpireTime: m.ExpireTime,
	}
}

// Fingerprint is a digest of all that makes two uploads the same: the document's digest and the options.
func Fingerprint(sha string, o Options) string {
	all := sha + "\n" + o.Lane + "\n" + o.Languages
	if o.DocumentTimeout > 0 || o.PageTimeout > 0 { // without them as before there were these options
		all += "\n" + o.DocumentTimeout.String() + "\n" + o.PageTimeout.String()
	}
	sum := sha256.Sum256([]byte(all))
	return hex.EncodeToString(sum[:])
}
