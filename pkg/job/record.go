package job

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/outcome"
)

// State says where a job stands.
type State string

// The states; see the package comment for how they follow each other.
const (
	Pending   State = "PENDING"
	Running   State = "RUNNING"
	Succeeded State = "SUCCEEDED"
	Partial   State = "PARTIAL"
	Failed    State = "FAILED"
	Rejected  State = "REJECTED"
	Cancelled State = "CANCELLED"
	Expired   State = "EXPIRED"
	Deleted   State = "DELETED"
)

// transitions is the one table of legal changes.
var transitions = map[State][]State{
	Pending:   {Running, Succeeded, Failed, Rejected, Cancelled},
	Running:   {Succeeded, Partial, Failed, Rejected, Cancelled},
	Succeeded: {Expired, Deleted},
	Partial:   {Expired, Deleted, Running},
	Failed:    {Expired, Deleted, Running},
	Rejected:  {Expired, Deleted},
	Cancelled: {Expired, Deleted, Running},
	Expired:   {Deleted},
}

// HasEnded reports whether the job has ended.
func (s State) HasEnded() bool { return s != Pending && s != Running }

// IsGone reports whether nothing is left of the job but its tombstone, or soon will be.
func (s State) IsGone() bool { return s == Expired || s == Deleted }

// IsEndedExternally reports whether the job was ended from outside, so that handlers still working on it must stop.
func (s State) IsEndedExternally() bool { return s == Cancelled || s.IsGone() }

// Options are the choices made for a job, defaults filled in.
type Options struct {
	Lane      string `json:"lane"`
	Languages string `json:"languages,omitempty"`
	// DocumentTimeout and PageTimeout are shorter limits than the server's own; 0 for none.
	DocumentTimeout time.Duration `json:"documentTimeout,omitempty"`
	PageTimeout     time.Duration `json:"pageTimeout,omitempty"`
	// StallTimeout is how long a run may go on without progress.
	StallTimeout time.Duration `json:"stallTimeout,omitempty"`
	// OCR says which pages are recognised; "" means auto.
	OCR OCRMode `json:"ocr,omitempty"`
	// Pages selects pages, in the normal form of ParsePages; "" means all.
	Pages string `json:"pages,omitempty"`
	// Deskew straightens skewed and bent scans; Rotate turns those that do not stand upright.
	Deskew Choice `json:"keepSkew,omitzero"`
	Rotate Choice `json:"keepRotation,omitzero"`
	// Engine is what recognises pages, auto or vision; "" means Tesseract, and that no picture leaves the server.
	Engine string `json:"engine,omitempty"`
	// Artifacts is what the job yields, sorted; empty means the default. Use WantsArtifact.
	Artifacts []Artifact `json:"artifacts,omitempty"`
	// Tables finds tables; without it they are left as the text that they are.
	Tables Choice `json:"noTables,omitzero"`
	// RawCSV writes the cells of tables as they are, also those that a spreadsheet would run.
	RawCSV bool `json:"rawCSV,omitempty"`
	// LeanJSON leaves the boxes of words out of document.json.
	LeanJSON bool `json:"leanJSON,omitempty"`
	// AllowSignatureInvalidation allows searchable.pdf of a signed document.
	AllowSignatureInvalidation bool `json:"breakSignatures,omitempty"`
	// ChunkWords is the size of a passage in chunks.jsonl; 0 means 300.
	ChunkWords int `json:"chunkWords,omitempty"`
	// Dedupe takes over the results of an earlier job that has done the same; without it the work is done again.
	Dedupe Choice `json:"noDedupe,omitzero"`
	// Retention is how long the job is kept from its creation on; 0 means as long as the server keeps jobs. With Keep it
	// never expires.
	Retention time.Duration `json:"retention,omitempty"`
	Keep      bool          `json:"keep,omitempty"`
	// Password is on its way from the request to the seal, and never stored. PasswordDigest tells two of them apart; see
	// Sealer.DigestSecret.
	Password       config.Secret `json:"-"`
	PasswordDigest string        `json:"passwordDigest,omitempty"`
}

// ExpiresAt returns when a job that is created now expires, given how long the server keeps jobs (0 means without
// end); zero where it never expires.
func (o *Options) ExpiresAt(now time.Time, server time.Duration) time.Time {
	keep := server
	if o.Retention > 0 {
		keep = o.Retention
	}
	if o.Keep || keep == 0 {
		return time.Time{}
	}
	return now.Add(keep)
}

// OCRMode says which pages of a job are recognised.
type OCRMode string

// The modes, as JobOptions in job.proto says.
const (
	OCRAuto  OCRMode = "auto"
	OCRForce OCRMode = "force"
	OCRSkip  OCRMode = "skip"
	OCRRedo  OCRMode = "redo"
)

// ShorterLimit returns the option if it is set and shorter than the server's limit, else the limit; 0 means no limit.
func ShorterLimit(option, limit time.Duration) time.Duration {
	if option > 0 && (limit == 0 || option < limit) {
		return option
	}
	return limit
}

// Document holds the facts that ingest found.
type Document struct {
	PDFVersion   string `json:"pdfVersion,omitempty"`
	Encrypted    bool   `json:"encrypted,omitempty"`
	Title        string `json:"title,omitempty"`
	Author       string `json:"author,omitempty"`
	Subject      string `json:"subject,omitempty"`
	Keywords     string `json:"keywords,omitempty"`
	Creator      string `json:"creator,omitempty"`
	Producer     string `json:"producer,omitempty"`
	CreationDate string `json:"creationDate,omitempty"`
	ModDate      string `json:"modificationDate,omitempty"`
	Tagged       bool   `json:"tagged,omitempty"`
}

// Finding is something that scan noticed.
type Finding struct {
	Kind   string `json:"kind"`
	Count  int    `json:"count"`
	Policy string `json:"policy"`
	Detail string `json:"detail,omitempty"`
}

// Fault is an error as the record keeps it.
type Fault struct {
	Code    fault.Code `json:"code"`
	Stage   string     `json:"stage,omitempty"`
	Page    int        `json:"page,omitempty"`
	Message string     `json:"message,omitempty"`
}

// NewFault returns err as the record keeps it.
func NewFault(stage string, err error) *Fault {
	return &Fault{Code: fault.CodeOf(err), Stage: stage, Message: fault.UserMessageOf(err)}
}

// StageTimes is a stage's share in a run.
type StageTimes struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	Units int       `json:"units"`
	// Busy is the wall time spent in handlers, in seconds, summed over the units.
	Busy float64 `json:"busy"`
}

// Record is all that is kept about a job but its page progress. Change it only inside Store.UpdateRecord.
type Record struct {
	ID       ID      `json:"id"`
	Tenant   string  `json:"tenant"`
	Run      int     `json:"run"`
	State    State   `json:"state"`
	Options  Options `json:"options"`
	Filename string  `json:"filename,omitempty"`
	Size     uint32  `json:"size"`
	SHA256   string  `json:"sha256"`

	PageCount int       `json:"pageCount,omitempty"`
	Document  *Document `json:"document,omitempty"`
	Findings  []Finding `json:"findings,omitempty"`
	// ChunkPages is the number of pages of a chunk; 0 until scan has cut the document.
	ChunkPages int `json:"chunkPages,omitempty"`
	// Window is the number of chunks in flight at once: the end of chunk n releases chunk n+Window.
	Window int `json:"window,omitempty"`

	// Stages holds the times of ingest and scan, and of all stages once the job has ended.
	Stages map[string]StageTimes `json:"stages,omitempty"`
	// Failures counts failed tries by task; redeliveries after a crash or a deploy are none.
	Failures map[string]int `json:"failures,omitempty"`

	// Sealed is the document's password under the server's key, until the job ends; Protected says that there was one.
	Sealed    string `json:"sealed,omitempty"`
	Protected bool   `json:"protected,omitempty"`

	// DuplicateOf is the job whose results this one takes over, or has; Follows is the one whose end it waits for, to do
	// so; Followers are those that wait for this one.
	DuplicateOf ID   `json:"duplicateOf,omitempty"`
	Follows     ID   `json:"follows,omitempty"`
	Followers   []ID `json:"followers,omitempty"`

	// Labels are the client's own names and values; Batch is the batch that the job came in; Webhook is the address to
	// be told of its end.
	Labels  map[string]string `json:"labels,omitempty"`
	Batch   ID                `json:"batch,omitempty"`
	Webhook string            `json:"webhook,omitempty"`
	// Caller is the API key that the job came by, where that has a quota of jobs; they are counted by it.
	Caller string `json:"caller,omitempty"`

	// ResultRun is the last run that ended with results; 0 while there is none. Its results answer until a later run's
	// replace them.
	ResultRun int `json:"resultRun,omitempty"`
	// Artifacts is how many artifacts the run yielded whose results there are; 0 where that is not known.
	Artifacts int `json:"artifacts,omitempty"`
	// BaseRun is the first run whose pages the present one may have taken over; 0 where it took over none.
	BaseRun int `json:"baseRun,omitempty"`

	// RedoDoubtful says that the run does pages with doubts again.
	RedoDoubtful bool `json:"redoDoubtful,omitempty"`

	// Outcomes, FailedPages (page ranges by code) and DoubtfulPages (page ranges) are set when the job ends; before, the
	// progress has them.
	Outcomes      map[string]int        `json:"outcomes,omitempty"`
	FailedPages   map[fault.Code]string `json:"failedPages,omitempty"`
	DoubtfulPages string                `json:"doubtfulPages,omitempty"`
	Error         *Fault                `json:"error,omitempty"`

	CreateTime time.Time `json:"createTime"`
	StartTime  time.Time `json:"startTime,omitzero"`
	// Idle is how long of the run's time nothing of the job was in flight, as while the server was off.
	Idle time.Duration `json:"idle,omitempty"`
	// SlowPageTime is what pages of the run have taken in all that hung until their limit, and SlowPages which they are,
	// as the stage and the page's number.
	SlowPageTime time.Duration `json:"slowPageTime,omitempty"`
	SlowPages    []string      `json:"slowPages,omitempty"`
	EndTime      time.Time     `json:"endTime,omitzero"`
	ExpireTime   time.Time     `json:"expireTime,omitzero"`

	at keyVersion
}

// BatchLabel, CallerLabel and CodeLabel are the labels by which the search index knows a job's batch, its caller and the
// code that it ended with. Clients' own labels begin with no tilde.
const (
	BatchLabel  = "~batch"
	CallerLabel = "~caller"
	CodeLabel   = "~code"
)

// IsUnstarted reports whether nothing has been done for the job yet: its first task has to be in the queue or in work.
func (r *Record) IsUnstarted() bool { return r.State == Pending && r.Follows == "" }

// Lane returns the job's lane.
func (r *Record) Lane() string { return r.Options.Lane }

// Transition moves the record to another state, or says why that is not legal.
func (r *Record) Transition(s State, now time.Time) error {
	if r.State == s {
		return nil
	}
	if !slices.Contains(transitions[r.State], s) {
		return fmt.Errorf("job %s: %s cannot become %s", r.ID, r.State, s)
	}
	r.State = s
	if s.HasEnded() {
		r.EndTime = now
		// The password is not needed any more.
		r.Sealed, r.Options.PasswordDigest = "", ""
	} else if r.StartTime.IsZero() {
		r.StartTime = now
	}
	return nil
}

// RecordStage adds a unit of work to a stage's times.
func (r *Record) RecordStage(stage string, start, end time.Time) {
	if r.Stages == nil {
		r.Stages = make(map[string]StageTimes)
	}
	r.Stages[stage] = r.Stages[stage].addUnit(start, end)
}

func (t StageTimes) addUnit(start, end time.Time) StageTimes {
	if t.Units == 0 || start.Before(t.Start) {
		t.Start = start
	}
	if end.After(t.End) {
		t.End = end
	}
	t.Units++
	t.Busy += end.Sub(start).Seconds()
	return t
}

// ChunkCount returns the number of chunks that the document is cut into.
func (r *Record) ChunkCount() int {
	if r.ChunkPages == 0 {
		return 0
	}
	return (r.PageCount + r.ChunkPages - 1) / r.ChunkPages
}

// ChunkRange returns the first and the last page of a chunk; chunks count from 0, pages from 1.
func (r *Record) ChunkRange(chunk int) (first, last int) {
	return chunk*r.ChunkPages + 1, min((chunk+1)*r.ChunkPages, r.PageCount)
}

// FinishRun takes over what the progress holds and ends the job by it: SUCCEEDED when no page failed, PARTIAL when
// some did, FAILED when all did.
func (r *Record) FinishRun(p *Progress, now time.Time) error {
	r.Outcomes = p.CountOutcomes()
	r.FailedPages, r.DoubtfulPages = maps.Clone(p.Failed), p.Doubtful
	if r.Stages == nil {
		r.Stages = make(map[string]StageTimes)
	}
	maps.Copy(r.Stages, p.Stages)
	failed := r.Outcomes[outcome.Failed]
	none := failed > 0 && failed+r.Outcomes[outcome.Skipped] == r.PageCount // no page that was asked for could be read
	if !none {
		r.ResultRun, r.BaseRun = r.Run, 0
	}
	switch {
	case failed == 0:
		return r.Transition(Succeeded, now)
	case none:
		r.Error = &Fault{Code: fault.AllPagesFailed, Stage: "index", Message: fault.AllPagesFailed.DescribeCode()}
		if len(p.Failed) == 1 {
			for code := range p.Failed {
				r.Error.Message += ": " + code.DescribeCode()
			}
		}
		return r.Transition(Failed, now)
	default:
		return r.Transition(Partial, now)
	}
}
