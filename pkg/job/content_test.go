package job_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/job"
)

func TestParsePages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, want string
		bad      bool
		of       int // pages of a document
		count    int // of them selected
	}{
		{"", "", false, 9, 9},
		{" ", "", false, 9, 9},
		{"1-", "", false, 9, 9},
		{"5-,1-4", "", false, 9, 9},
		{"3", "3", false, 9, 1},
		{"1-3,7,12-", "1-3,7,12-", false, 13, 6},
		{"7, 1 - 3 ,2-4,5", "1-5,7", false, 9, 6},
		{"12-,14", "12-", false, 9, 0},
		{"8-20", "8-20", false, 9, 2},
		{"0", "", true, 0, 0},
		{"-3", "", true, 0, 0},
		{"+3", "", true, 0, 0},
		{"3-1", "", true, 0, 0},
		{"1,,2", "", true, 0, 0},
		{"a", "", true, 0, 0},
		{"1-2-3", "", true, 0, 0},
		{"99999999999999999999", "", true, 0, 0},
		{strings.Repeat("1,", 600) + "1", "", true, 0, 0},
	} {
		p, err := job.ParsePages(tt.in)
		if (err != nil) != tt.bad || p.String() != tt.want {
			t.Errorf("%q: got %q, %v, want %q, error %t", tt.in, p, err, tt.want, tt.bad)
			continue
		}
		if err != nil {
			continue
		}
		again, err := job.ParsePages(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q: its normal form reads as %q, %v", tt.in, again, err)
		}
		n := 0
		for page := 1; page <= tt.of; page++ {
			if p.ContainsPage(page) {
				n++
			}
		}
		if n != tt.count || p.CountPages(tt.of) != tt.count {
			t.Errorf("%q of %d pages: %d contained, %d counted, want %d", tt.in, tt.of, n, p.CountPages(tt.of), tt.count)
		}
	}
}

func FuzzParsePages(f *testing.F) {
	for _, s := range []string{"", "1-3,7,12-", "0", "2-1", "1000000", " 1 - , 3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := job.ParsePages(s)
		if err != nil {
			return
		}
		for i, r := range p {
			if r.First < 1 || r.Last < r.First || i > 0 && r.First <= p[i-1].Last+1 {
				t.Errorf("%q gives %v", s, p)
			}
		}
		if again, err := job.ParsePages(p.String()); err != nil || again.String() != p.String() {
			t.Errorf("%q: normal form %q reads as %q, %v", s, p, again, err)
		}
	})
}

func TestSealer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	s, err := job.LoadOrCreateSealer(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := job.LoadOrCreateSealer(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := job.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v, want mode 0600", info, err)
	}
	sealed := s.SealSecret("t", "j", "geheim")
	if strings.Contains(sealed, "geheim") || s.SealSecret("t", "j", "geheim") == sealed {
		t.Errorf("sealed as %q, twice the same or readable", sealed)
	}
	if got, err := again.OpenSecret("t", "j", sealed); err != nil || got != "geheim" {
		t.Errorf("opened as %q, %v", got, err)
	}
	for name, open := range map[string]func() (string, error){
		"another job": func() (string, error) { return s.OpenSecret("t", "k", sealed) },
		"another key": func() (string, error) { return other.OpenSecret("t", "j", sealed) },
		"cut":         func() (string, error) { return s.OpenSecret("t", "j", sealed[:16]) },
		"no base64":   func() (string, error) { return s.OpenSecret("t", "j", "%") },
	} {
		if got, err := open(); err == nil {
			t.Errorf("%s: opened as %q", name, got)
		}
	}
	if _, err := other.OpenSecret("t", "j", sealed); !errors.Is(err, job.ErrWrongSealKey) {
		t.Errorf("another key: got %v, want ErrWrongSealKey", err)
	}
	_, unnamed, _ := strings.Cut(sealed, ".")
	if got, err := s.OpenSecret("t", "j", unnamed); err != nil || got != "geheim" {
		t.Errorf("what an older server sealed: opened as %q, %v", got, err)
	}
	if s.DigestSecret("t", "a") != again.DigestSecret("t", "a") || s.DigestSecret("t", "a") == s.DigestSecret("t", "b") ||
		s.DigestSecret("t", "a") == other.DigestSecret("t", "a") {
		t.Error("digests do not tell secrets and keys apart")
	}
	if err := os.WriteFile(path, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := job.LoadOrCreateSealer(path); err == nil {
		t.Error("a damaged key was replaced or used")
	}
}

func TestFingerprintTellsOptionsApart(t *testing.T) {
	t.Parallel()
	base := job.Options{Lane: "interactive"}
	seen := map[string]string{}
	for name, change := range map[string]func(*job.Options){
		"none": func(*job.Options) {}, "lane": func(o *job.Options) { o.Lane = "batch" },
		"ocr":   func(o *job.Options) { o.OCR = job.OCRForce },
		"pages": func(o *job.Options) { o.Pages = "1" }, "skew": func(o *job.Options) { o.Deskew = job.TurnedOff() },
		"artifacts": func(o *job.Options) { o.Artifacts = []job.Artifact{job.ArtifactText} },
		"retention": func(o *job.Options) { o.Retention = 1 },
		"keep":      func(o *job.Options) { o.Keep = true }, "stall": func(o *job.Options) { o.StallTimeout = time.Second },
		"password": func(o *job.Options) { o.PasswordDigest = "x" }, "dedupe": func(o *job.Options) { o.Dedupe = job.TurnedOff() },
	} {
		o := base
		change(&o)
		f := job.Fingerprint("ab", o)
		if twin, taken := seen[f]; taken {
			t.Errorf("%s and %s have one fingerprint", name, twin)
		}
		seen[f] = name
		o.Password = config.NewSecret("never a part of anything")
		if job.Fingerprint("ab", o) != f {
			t.Errorf("%s: the password itself is in the fingerprint", name)
		}
	}
}

// Records, keys of contents and fingerprints outlast a release: what an option is called in them stays.
func TestOptionsAreStoredAsEver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		options job.Options
		want    string
	}{
		{job.Options{Lane: "batch"}, `{"lane":"batch"}`},
		{job.Options{Lane: "batch", Deskew: job.TurnedOff(), Rotate: job.TurnedOff(), Tables: job.TurnedOff(),
			AllowSignatureInvalidation: true, Dedupe: job.TurnedOff()},
			`{"lane":"batch","keepSkew":true,"keepRotation":true,"noTables":true,"breakSignatures":true,"noDedupe":true}`},
	} {
		data, err := json.Marshal(tt.options)
		if err != nil || string(data) != tt.want {
			t.Errorf("got %s, error %v, want %s", data, err, tt.want)
		}
		var back job.Options
		if err := json.Unmarshal([]byte(tt.want), &back); err != nil || !reflect.DeepEqual(back, tt.options) {
			t.Errorf("got %+v back, error %v, want %+v", back, err, tt.options)
		}
	}
}

func TestContentClaims(t *testing.T) {
	t.Parallel()
	jobs := bustest.NewJobStore(t, bustest.New(t))
	record := func(change func(*job.Record)) *job.Record {
		r := &job.Record{ID: job.NewID(), Tenant: "default", Run: 1, State: job.Pending, SHA256: "ab",
			Options: job.Options{Lane: "interactive"}}
		if change != nil {
			change(r)
		}
		if err := jobs.CreateRecord(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	holder := func(r *job.Record) job.ID {
		t.Helper()
		id, err := jobs.ClaimContent(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	a := record(nil)
	b := record(func(r *job.Record) {
		r.Options.Lane, r.Options.PageTimeout, r.Options.ChunkWords = "batch", time.Minute, 300
	})
	if got := holder(a); got != a.ID {
		t.Fatalf("a: held by %s", got)
	}
	if got := holder(b); got != a.ID {
		t.Errorf("b, of the same content: held by %s, want a", got)
	}
	for name, change := range map[string]func(*job.Record){
		"tenant": func(r *job.Record) { r.Tenant = "other" }, "bytes": func(r *job.Record) { r.SHA256 = "cd" },
		"pages":     func(r *job.Record) { r.Options.Pages = "1" },
		"languages": func(r *job.Record) { r.Options.Languages = "deu" },
	} {
		if c := record(change); holder(c) != c.ID {
			t.Errorf("another %s shares the claim", name)
		}
	}
	if err := jobs.AddFollower(t.Context(), "default", a.ID, b.ID); err != nil {
		t.Fatal(err)
	}
	if err := jobs.AddFollower(t.Context(), "default", a.ID, b.ID); err != nil {
		t.Fatal(err)
	}
	ended, err := jobs.UpdateRecord(t.Context(), "default", a.ID,
		func(r *job.Record) error { return r.Transition(job.Cancelled, time.Now()) })
	if err != nil || fmt.Sprint(ended.Followers) != fmt.Sprint([]job.ID{b.ID}) {
		t.Errorf("followers %v, %v, want b, once", ended.Followers, err)
	}
	if err := jobs.AddFollower(t.Context(), "default", a.ID, b.ID); !errors.Is(err, job.ErrEnded) {
		t.Errorf("follow of a job that has ended: %v, want ErrEnded", err)
	}
	if err := jobs.ReplaceContent(t.Context(), b, "nobody"); !errors.Is(err, job.ErrExists) {
		t.Errorf("replace of another's claim: %v, want ErrExists", err)
	}
	if err := errors.Join(jobs.ReleaseContent(t.Context(), b), jobs.ReplaceContent(t.Context(), b, a.ID)); err != nil {
		t.Fatal(err)
	}
	if got := holder(a); got != b.ID {
		t.Errorf("after b took it over: held by %s", got)
	}
	if err := errors.Join(jobs.ReleaseContent(t.Context(), a), jobs.ReleaseContent(t.Context(), b),
		jobs.ReleaseContent(t.Context(), b)); err != nil {
		t.Fatal(err)
	}
	if err := jobs.ReplaceContent(t.Context(), a, b.ID); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("replace of no claim: %v, want ErrNotFound", err)
	}
	if got := holder(a); got != a.ID {
		t.Errorf("after it was dropped: held by %s", got)
	}
}

func TestExpiresAt(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for _, tt := range []struct {
		o      job.Options
		server time.Duration
		want   time.Time
	}{
		{job.Options{}, time.Hour, now.Add(time.Hour)},
		{job.Options{}, 0, time.Time{}},
		{job.Options{Retention: time.Minute}, time.Hour, now.Add(time.Minute)},
		{job.Options{Retention: 2 * time.Hour}, time.Hour, now.Add(2 * time.Hour)},
		{job.Options{Keep: true}, time.Hour, time.Time{}},
	} {
		if got := tt.o.ExpiresAt(now, tt.server); !got.Equal(tt.want) {
			t.Errorf("%+v, server %s: got %v, want %v", tt.o, tt.server, got, tt.want)
		}
	}
}
