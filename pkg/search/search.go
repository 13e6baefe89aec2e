// Package search finds pages by the words on them.
//
// [Open] returns the [Store] that a URL names. SQLite with FTS5 is the one that needs no server; it lives in the
// sqlite*.go files here. ClickHouse is the one for many; it lives in clickhouse*.go and migrations. [NewMatcher] says
// what of the words of a hit's page matched. Package searchtest holds the tests that every Store passes.
package search

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Store is a search index. It is a projection: all that it holds can be written again from the job records and the
// page blobs.
//
// Writes are idempotent, and durable when they return: of one call all is stored or nothing. Errors that may pass
// (locked, disk full, I/O, network) are faults of kind Busy with the code UNAVAILABLE. No call ever sees or changes
// anything of another tenant, and nothing that another tenant stores changes what a search answers. A Store is safe
// for concurrent use, and several processes may open the same index.
type Store interface {
	// PutPages stores pages, each in the place of what was there under the same tenant, job and number, unless that is
	// of a later run.
	PutPages(ctx context.Context, pages []Page) error
	// PutDocument stores what is known of a document, in the place of what was there for the same tenant and job.
	PutDocument(ctx context.Context, doc Document) error
	// PutDocuments stores several at the cost of little more than one.
	PutDocuments(ctx context.Context, docs []Document) error
	// RestAfter returns how long who follows the jobs leaves the index alone after documents and events that took so long
	// to write: fewer writes, each of more, cost some indexes much less.
	RestAfter(took time.Duration) time.Duration
	// Search returns the pages that match, best first. A query that makes no sense is an INVALID_ARGUMENT fault.
	Search(ctx context.Context, query Query) (Result, error)
	// ListJobs returns the jobs that match, newest first unless the query says otherwise. A query that makes no sense is
	// an INVALID_ARGUMENT fault. The list is what PutDocument was told, which is behind the jobs' records by as long as
	// its callers are.
	ListJobs(ctx context.Context, query JobQuery) (JobPage, error)
	// CountStates counts the jobs that match by their state. The query's order, limit and cursor play no part.
	CountStates(ctx context.Context, query JobQuery) (map[string]int64, error)
	// CountLabels counts the jobs that match by a label's values, or by all labels whose names begin with no tilde where
	// the name is empty: the most frequent first, at most MaxLabelCounts.
	CountLabels(ctx context.Context, query JobQuery, name string) ([]LabelCount, error)
	// CountGroups counts the jobs that match by the values of a label: the greatest value first, at most the query's limit
	// of them, and where before is not empty, those less than it.
	CountGroups(ctx context.Context, query JobQuery, name, before string) (GroupPage, error)
	// PutEvents stores events of audit trails, each once. A tombstone takes the job's other events away, and keeps later
	// ones from showing.
	PutEvents(ctx context.Context, events []Event) error
	// JobEvents returns a job's events in the order of their sequence.
	JobEvents(ctx context.Context, tenant, job string) ([]Event, error)
	// LastEvent returns the event with the highest sequence, whichever job's it is; the zero Event if there is none. What
	// copies the events into the index goes on after it.
	LastEvent(ctx context.Context) (Event, error)
	// StageStats sums up what the stages did for the documents of a tenant, by time, stage and lane, in this order.
	StageStats(ctx context.Context, query StatsQuery) ([]StageStat, error)
	// DeleteJob removes a job's pages, document and events, but for a tombstone. To have nothing to remove is no error.
	DeleteJob(ctx context.Context, tenant, job string) error
	// Ping reports whether the index answers.
	Ping(ctx context.Context) error
	// Close ends the Store.
	Close() error
}

// Page is the text of one page.
type Page struct {
	Tenant string
	Job    string
	// Run counts a job's runs from 1.
	Run int
	// Number counts from 1.
	Number int
	// Language is a BCP 47 tag, empty where unknown.
	Language string
	Text     string
	// ExpireTime is when the page may go by itself if it was not deleted, zero for never. It is a safety net: a store
	// takes days for it, or, as SQLite does, leaves it to DeleteJob.
	ExpireTime time.Time
	// CanWait says that PutPages may take three seconds more, to store the page with others: few writes, each of many
	// pages, cost some stores much less.
	CanWait bool
}

// Document is what is known of a job's document.
type Document struct {
	Tenant    string
	Job       string
	Filename  string
	SHA256    string
	PageCount int
	// State is the job's state, e.g. SUCCEEDED.
	State      string
	CreateTime time.Time
	// EndTime is zero while the job runs.
	EndTime time.Time
	Labels  map[string]string
	// Lane and Stages, what each stage did in the job's last run, are for StageStats; ListJobs leaves them out.
	Lane   string
	Stages map[string]StageRun
	// ExpireTime is as that of a Page.
	ExpireTime time.Time
}

// DefaultLimit and MaxLimit are how many hits a Result has if the Query does not say, and at most.
const (
	DefaultLimit = 20
	MaxLimit     = 100
)

// Filter says what documents must be like. Its zero value leaves none out.
type Filter struct {
	// Filename is a part of the file name, without regard to case and to the accents of Latin letters.
	Filename string
	// Labels must all be there, with these values.
	Labels map[string]string
	// LabelNames must all be there, with any value.
	LabelNames []string
	// From and Before bound the time of creation: From ≤ CreateTime < Before. Zero is no bound.
	From, Before time.Time
	// MinPages and MaxPages bound the page count. Zero is no bound.
	MinPages, MaxPages int
}

// JobQuery asks for jobs.
type JobQuery struct {
	Tenant string
	// States, if any, are those that the jobs may be in.
	States []string
	Filter Filter
	// OldestFirst turns the order round.
	OldestFirst bool
	// Limit is how many jobs to return: DefaultLimit if 0, never more than MaxLimit.
	Limit int
	// Cursor goes on where an earlier JobPage of the same query ended: its NextCursor. Jobs that came since then neither
	// repeat nor hide others.
	Cursor string
}

// JobPage is a part of a list of jobs.
type JobPage struct {
	// Jobs are ordered by CreateTime, those of the same time by Job.
	Jobs []Document
	// NextCursor is empty if there are no more.
	NextCursor string
}

// MaxLabelCounts bounds what CountLabels returns.
const MaxLabelCounts = 200

// LabelCount is how many jobs have a label.
type LabelCount struct {
	Name, Value string
	Jobs        int64
}

// groupRows is how many rows a store reads for a group: more than there are states, so that those for n groups show whether
// there is another.
const groupRows = 16

// LabelGroup is what the jobs with one value of a label sum up to.
type LabelGroup struct {
	Value string
	// States counts the jobs by their state.
	States map[string]int64
	Pages  int64
	// FirstTime is when the first of them was created.
	FirstTime time.Time
}

// GroupPage is a part of the groups of a label.
type GroupPage struct {
	Groups []LabelGroup
	// More says that there are others, of lesser values.
	More bool
}

// newGroupPage cuts what was found to a page.
func newGroupPage(groups []LabelGroup, limit int) GroupPage {
	return GroupPage{Groups: groups[:min(len(groups), limit)], More: len(groups) > limit}
}

// groupRow is the jobs with one value of a label that are in one state.
type groupRow struct {
	value, state string
	jobs, pages  int64
	created      int64
}

// appendGroup adds a row to the last group where it has the row's value, or else begins another.
func appendGroup(groups []LabelGroup, row groupRow) []LabelGroup {
	created := timeFromMicros(row.created)
	if n := len(groups); n == 0 || groups[n-1].Value != row.value {
		groups = append(groups, LabelGroup{Value: row.value, States: map[string]int64{}, FirstTime: created})
	}
	g := &groups[len(groups)-1]
	g.States[row.state] = row.jobs
	g.Pages += row.pages
	if created.Before(g.FirstTime) {
		g.FirstTime = created
	}
	return groups
}

// Query asks for pages.
type Query struct {
	Tenant string
	// Text is made of words, all of which a page must have; "phrases in quotes"; -words or -"phrases" that it must not
	// have; and beginnings of words*. Of an English word that stands alone its other forms will do as well: invoice
	// finds invoices. In quotes it stands for itself. Case does not matter, nor do the accents of Latin letters.
	// Everything else is punctuation. A word of a script that sets no blanks between words, or of Hangul, is found
	// wherever its characters stand one after the other.
	Text string
	// Job, if not empty, is the only one to look in.
	Job string
	// Language, if not empty, is that of the pages.
	Language string
	// Filter is what the documents of the pages must be like. With any of it set, pages without a PutDocument are not
	// found.
	Filter Filter
	// Limit is how many hits to return: DefaultLimit if 0, never more than MaxLimit.
	Limit int
	// Cursor goes on where an earlier Result of the same query ended: its NextCursor.
	Cursor string
}

// Result is what a Query found.
type Result struct {
	// Hits are the best first; their order is the same every time while the index does not change. Where very many pages
	// match, a part of them after the other is ranked: first come the best of the first part, then all others of it,
	// then those of the next.
	Hits []Hit
	// NextCursor is empty if there are no more hits.
	NextCursor string
}

// Hit is a page that matches.
type Hit struct {
	Job  string
	Page int
	Run  int
	// Filename is empty, and CreateTime zero, until PutDocument was called.
	Filename   string
	CreateTime time.Time
	Language   string
	Snippet    Snippet
	// Score is higher for better hits. Scores of different queries do not compare.
	Score float64
}

// Snippet is a piece of a page's text around what matched. It has no line breaks; "…" stands for text left out.
type Snippet struct {
	Text string
	// Highlights are the places in Text that match, in order.
	Highlights []Span
}

// Span is the bytes [Start, End) of a text.
type Span struct{ Start, End int }

// MarkHighlights returns the text with before and after around each highlight, and what is between them passed
// through escape (nil for as is).
func (s Snippet) MarkHighlights(before, after string, escape func(string) string) string {
	if escape == nil {
		escape = func(s string) string { return s }
	}
	var b strings.Builder
	at := 0
	for _, h := range s.Highlights {
		b.WriteString(escape(s.Text[at:h.Start]) + before + escape(s.Text[h.Start:h.End]) + after)
		at = h.End
	}
	b.WriteString(escape(s.Text[at:]))
	return b.String()
}

// Open returns the Store at url, making it where it is missing:
//
//	sqlite:///abs/path/index.db                a file
//	clickhouse://user:password@host:9000/db    a database of a ClickHouse server, over the native protocol; parameters are those of
//	                                           clickhouse-go (secure=true, dial_timeout=5s …) and purge=1h, how often deleted rows go off the disk
func Open(ctx context.Context, rawURL string) (Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("index URL does not parse") // without the URL: it may hold a secret
	}
	switch u.Scheme {
	case "sqlite":
		if u.Host != "" || u.RawQuery != "" || !strings.HasPrefix(u.Path, "/") || strings.HasSuffix(u.Path, "/") {
			return nil, errors.New("index URL: want sqlite:/// and the absolute path of a file, without parameters")
		}
		return OpenSQLite(ctx, u.Path)
	case "clickhouse":
		return OpenClickHouse(ctx, rawURL)
	default:
		return nil, fmt.Errorf("index URL scheme %q, want sqlite or clickhouse", u.Scheme)
	}
}
