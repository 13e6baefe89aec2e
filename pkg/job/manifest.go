package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"time"

	"inkstream.dev/pkg/config"
)

// Manifest is the note beside a stored document that says which job it belongs to, so that the blobs alone tell of
// every job: the reconciler makes the job again where the bucket of jobs lost it, and an index can be rebuilt. Ingest
// writes it, as the first thing that is done about a job; an upload is acknowledged once its document and its record
// are stored. It holds no password, sealed or not.
type Manifest struct {
	Tenant     string            `json:"tenant"`
	Job        ID                `json:"job"`
	Filename   string            `json:"filename,omitempty"`
	Size       uint32            `json:"size"`
	SHA256     string            `json:"sha256"`
	Options    Options           `json:"options"`
	CreateTime time.Time         `json:"createTime"`
	ExpireTime time.Time         `json:"expireTime,omitzero"`
	Labels     map[string]string `json:"labels,omitempty"`
	Batch      ID                `json:"batch,omitempty"`
	Webhook    string            `json:"webhook,omitempty"`
}

// NewManifest returns the manifest of a record's job.
func NewManifest(r *Record) *Manifest {
	m := &Manifest{
		Tenant: r.Tenant, Job: r.ID, Filename: r.Filename, Size: r.Size, SHA256: r.SHA256, Options: r.Options,
		CreateTime: r.CreateTime,
		ExpireTime: r.ExpireTime, Labels: r.Labels, Batch: r.Batch, Webhook: r.Webhook,
	}
	m.Options.PasswordDigest = ""
	return m
}

// NewRecord returns the record that the manifest's job starts with.
func (m *Manifest) NewRecord() *Record {
	return &Record{
		ID: m.Job, Tenant: m.Tenant, Run: 1, State: Pending, Options: m.Options, Filename: m.Filename, Size: m.Size,
		SHA256:     m.SHA256,
		CreateTime: m.CreateTime, ExpireTime: m.ExpireTime, Labels: m.Labels, Batch: m.Batch, Webhook: m.Webhook,
	}
}

// Fingerprint is a digest of all that makes two uploads the same: the document's digest and every option.
func Fingerprint(sha string, o Options) string {
	all := sha + "\n" + o.Lane + "\n" + o.Languages
	if o.DocumentTimeout > 0 || o.PageTimeout > 0 { // without them as before there were these options
		all += "\n" + o.DocumentTimeout.String() + "\n" + o.PageTimeout.String()
	}
	o.Lane, o.Languages, o.DocumentTimeout, o.PageTimeout, o.Password = "", "", 0, 0, config.Secret{}
	if !reflect.ValueOf(o).IsZero() { // and so on: keys that clients hold outlast a release
		// Options are plain values, which always encode.
		rest, _ := json.Marshal(o)
		all += "\n" + string(rest)
	}
	sum := sha256.Sum256([]byte(all))
	return hex.EncodeToString(sum[:])
}
