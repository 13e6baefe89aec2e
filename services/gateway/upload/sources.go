package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/apierror"
)

// Sources are the places that documents may be fetched from: the value of --gateway.sources. Each is a URL, and
// everything below it is allowed: s3://bucket/folder, with the parameters that pkg/blob knows, or file:///folder.
type Sources []string

// String returns the flag's value.
func (l *Sources) String() string { return strings.Join(*l, ",") }

// Set takes a list joined by commas.
func (l *Sources) Set(text string) error {
	*l = nil
	for s := range strings.SplitSeq(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			*l = append(*l, s)
		}
	}
	return l.Validate()
}

// Validate returns what is wrong with the list.
func (l *Sources) Validate() error {
	_, err := newSources(*l)
	return err
}

// sources are the places that documents may be fetched from.
type sources struct {
	locations []*sourceLocation
}

// sourceLocation is a folder, or a bucket or folder in one. Its errors leave out what is in the URL beyond that: it
// may be a secret.
type sourceLocation struct {
	scheme, host string
	folder       string // without slashes around it
	query        url.Values

	mu    sync.Mutex // guards store
	store *blob.Store
}

func newSources(list []string) (*sources, error) {
	all := &sources{}
	for i, raw := range list {
		u, err := url.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("source %d is no URL", i+1)
		}
		p := &sourceLocation{scheme: u.Scheme, host: u.Host, folder: strings.Trim(path.Clean("/"+u.Path), "/"),
			query: u.Query()}
		switch {
		case u.Scheme == "s3" && u.Host != "" && u.User == nil && u.Fragment == "" && !p.query.Has("prefix"):
		case u.Scheme == "file" && u.Host == "" && p.folder != "" && u.RawQuery == "" && u.Fragment == "":
		default:
			return nil, fmt.Errorf("source %d: want s3://bucket/folder or file:///folder", i+1)
		}
		all.locations = append(all.locations, p)
	}
	return all, nil
}

func (l *sources) closeStores() error {
	var errs []error
	for _, p := range l.locations {
		p.mu.Lock()
		if p.store != nil {
			errs = append(errs, p.store.Close())
		}
		p.store = nil
		p.mu.Unlock()
	}
	return errors.Join(errs...)
}

// openDocument opens the document that a client names; name is the last part of its address.
func (l *sources) openDocument(ctx context.Context, raw string) (r io.ReadCloser, name string, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "" {
		return nil, "", apierror.InvalidField(fault.InvalidArgument, "source", "want a URL such as s3://bucket/folder/scan.pdf")
	}
	for _, p := range l.locations {
		key, ok := p.relativeKey(u)
		if !ok {
			continue
		}
		if p.scheme == "file" {
			r, err = p.openLocalFile(key)
		} else {
			r, err = p.openBucketBlob(ctx, key)
		}
		return r, path.Base(key), err
	}
	return nil, "", apierror.InvalidField(apierror.SourceNotAllowed, "source", "the server fetches nothing from there")
}

// relativeKey returns what is left of an address below the place. An address that is not in its shortest form is
// below none: what "..", "." and empty parts lead to is not for a client to say.
func (p *sourceLocation) relativeKey(u *url.URL) (key string, ok bool) {
	if u.Scheme != p.scheme || u.Host != p.host || u.Path == "" || u.Path != path.Clean(u.Path) ||
		strings.ContainsAny(u.Path, "\\\x00") {
		return "", false
	}
	key = strings.TrimPrefix(u.Path, "/")
	if p.folder != "" {
		if key, ok = strings.CutPrefix(key, p.folder+"/"); !ok {
			return "", false
		}
	}
	return key, key != "" && fs.ValidPath(key)
}

// openLocalFile opens a file below the folder. os.Root sees to it that no symbolic link leads out of it.
func (p *sourceLocation) openLocalFile(name string) (io.ReadCloser, error) {
	root, err := os.OpenRoot("/" + p.folder)
	if err != nil {
		return nil, fault.Wrap(fault.Busy, fault.Unavailable, errors.New("the folder of sources cannot be opened"))
	}
	defer root.Close() //nolint:errcheck // it was opened for looking alone
	// Without waiting: the other end of a named pipe may never come.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		// Which of them it is would tell what else is there.
		return nil, errSourceNotFound()
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errSourceNotFound(), f.Close())
	}
	return f, nil
}

func (p *sourceLocation) openBucketBlob(ctx context.Context, key string) (io.ReadCloser, error) {
	store, err := p.openBucket(ctx)
	if err != nil {
		return nil, err
	}
	r, err := store.Get(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, errSourceNotFound()
	}
	return r, err
}

// openBucket opens the bucket when it is first asked for.
func (p *sourceLocation) openBucket(ctx context.Context) (*blob.Store, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.store != nil {
		return p.store, nil
	}
	q := url.Values{}
	for name, values := range p.query {
		q[name] = values
	}
	if p.folder != "" {
		q.Set("prefix", p.folder)
	}
	u := url.URL{Scheme: p.scheme, Host: p.host, RawQuery: q.Encode()}
	store, err := blob.Open(context.WithoutCancel(ctx), u.String())
	if err != nil {
		return nil, fault.Wrap(fault.Permanent, fault.Internal, fmt.Errorf("open source: %w", err))
	}
	p.store = store
	return store, nil
}

func errSourceNotFound() error { return fault.New(apierror.SourceMissing, "there is no such document") }
