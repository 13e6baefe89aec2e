package fault

// Code is a stable name of a fault. Codes are API: they are never renamed.
type Code string

// The codes, by what they are about.
const (
	// The document as a whole: the job ends REJECTED.

	EmptyFile     Code = "EMPTY_FILE"
	NotAPDF       Code = "NOT_A_PDF"
	Encrypted     Code = "ENCRYPTED"
	WrongPassword Code = "WRONG_PASSWORD"
	Damaged       Code = "DAMAGED"
	NoPages       Code = "NO_PAGES"
	InvalidPages  Code = "INVALID_PAGES"
	TooLarge      Code = "TOO_LARGE"
	TooManyPages  Code = "TOO_MANY_PAGES"
	PolicyReject  Code = "POLICY_REJECTED"
	MalwareFound  Code = "MALWARE_FOUND"

	// One page: the page fails, the job goes on.

	PageTimeout   Code = "PAGE_TIMEOUT"
	PageBudget    Code = "PAGE_BUDGET_SPENT"
	PageDamaged   Code = "PAGE_DAMAGED"
	PageGeometry  Code = "PAGE_GEOMETRY"
	PageTooDense  Code = "PAGE_TOO_DENSE"
	EngineCrashed Code = "ENGINE_CRASHED"
	EngineMemory  Code = "ENGINE_MEMORY"

	// The job.

	DocumentTimeout Code = "DOCUMENT_TIMEOUT"
	OpenTimeout     Code = "OPEN_TIMEOUT"
	JobStalled      Code = "JOB_STALLED"
	AllPagesFailed  Code = "ALL_PAGES_FAILED"
	SourceMissing   Code = "SOURCE_MISSING"
	SourceChanged   Code = "SOURCE_CHANGED"
	RetriesSpent    Code = "RETRIES_SPENT"

	// A request.

	InvalidArgument     Code = "INVALID_ARGUMENT"
	InvalidOption       Code = "INVALID_OPTION"
	UnsupportedMedia    Code = "UNSUPPORTED_MEDIA_TYPE"
	IdempotencyConflict Code = "IDEMPOTENCY_CONFLICT"
	JobNotFound         Code = "JOB_NOT_FOUND"
	ArtifactNotFound    Code = "ARTIFACT_NOT_FOUND"
	PageNotFound        Code = "PAGE_NOT_FOUND"
	NotReady            Code = "NOT_READY"
	JobFailed           Code = "JOB_FAILED"

	// The system.

	QueueFull   Code = "QUEUE_FULL"
	Unavailable Code = "UNAVAILABLE"
	Internal    Code = "INTERNAL"
)

type codeEntry struct {
	kind        Kind
	reason      string
	description string
}

var codeTable = map[Code]codeEntry{
	EmptyFile:     {Permanent, "empty", "the file has no bytes"},
	NotAPDF:       {Permanent, "not_a_pdf", "the file is not a PDF"},
	Encrypted:     {Permanent, "encrypted", "the document needs a password"},
	WrongPassword: {Permanent, "wrong_password", "the password does not open the document"},
	Damaged:       {Permanent, "damaged", "the document is damaged beyond repair"},
	NoPages:       {Permanent, "no_pages", "the document has no pages"},
	InvalidPages:  {Permanent, "invalid_pages", "the document has none of the pages that were asked for"},
	TooLarge:      {Permanent, "too_large", "the file is larger than the server allows"},
	TooManyPages:  {Permanent, "too_many_pages", "the document has more pages than the server allows"},
	PolicyReject:  {Permanent, "policy", "the server's policy refuses what the document holds"},
	MalwareFound:  {Permanent, "malware", "the scanner found malware"},

	PageTimeout:   {EngineCrash, "timeout", "the page took longer than its deadline"},
	PageBudget:    {Permanent, "budget_spent", "the page takes long, and the document has no time left for such pages"},
	PageDamaged:   {Permanent, "damaged", "the page cannot be loaded"},
	PageGeometry:  {Permanent, "geometry", "the page's size is not usable"},
	PageTooDense:  {Permanent, "too_dense", "the page and those around it have more words than the server takes"},
	EngineCrashed: {EngineCrash, "engine_crash", "the engine crashed over the page, or the document"},
	EngineMemory:  {EngineCrash, "memory", "the engine ran out of its memory over the page, or the document"},

	DocumentTimeout: {Permanent, "timeout", "the document took longer than its deadline"},
	OpenTimeout:     {EngineCrash, "timeout", "the document took longer to open than its deadline"},
	JobStalled:      {EngineCrash, "stalled", "no page and no stage ended for longer than the deadline"},
	AllPagesFailed:  {Permanent, "all_pages_failed", "no page could be read"},
	SourceMissing:   {Permanent, "source_missing", "the stored document is gone"},
	SourceChanged:   {Permanent, "source_changed", "the stored document is not what was uploaded"},
	RetriesSpent:    {Permanent, "retries_spent", "the work failed too often"},

	InvalidArgument:     {Permanent, "invalid_argument", "the request is not valid"},
	InvalidOption:       {Permanent, "invalid_option", "an option is not valid"},
	UnsupportedMedia:    {Permanent, "unsupported_media_type", "the content type is not one that the server takes"},
	IdempotencyConflict: {Permanent, "idempotency_conflict", "the idempotency key was used with other bytes or options"},
	JobNotFound:         {Permanent, "not_found", "there is no such job"},
	ArtifactNotFound:    {Permanent, "not_found", "the job has no such artifact"},
	PageNotFound:        {Permanent, "not_found", "the document has no such page"},
	NotReady:            {Busy, "not_ready", "the job has not got that far yet"},
	JobFailed:           {Permanent, "job_failed", "the job ended without a result"},

	QueueFull:   {Busy, "queue_full", "the server has as much work queued as it takes; try later"},
	Unavailable: {Busy, "unavailable", "a part of the server is away; try later"},
	Internal:    {Transient, "internal", "internal error"},
}

func (c Code) lookUpKind() Kind { return codeTable[c].kind }

// ShortReason returns the short lower-case form that page outcomes and metrics carry, e.g. engine_crash for
// ENGINE_CRASHED.
func (c Code) ShortReason() string {
	if e, ok := codeTable[c]; ok {
		return e.reason
	}
	return "internal"
}

// DescribeCode returns a sentence for people.
func (c Code) DescribeCode() string {
	if e, ok := codeTable[c]; ok {
		return e.description
	}
	return codeTable[Internal].description
}

// IsRetryable reports whether the same upload may succeed later.
func (c Code) IsRetryable() bool {
	switch c {
	case PageTimeout, PageBudget, EngineCrashed, EngineMemory, DocumentTimeout, OpenTimeout, JobStalled, RetriesSpent, Internal,
		Unavailable, QueueFull:
		return true
	default:
		return false
	}
}
