package job

import (
	"strings"
)

// Option is a row of the one table of what a client may choose for a job: a field of JobOptions in job.proto. What a
// REST client says, the choice in the job's record, what is shown of it, and the command line's flag with its values
// follow from the row.
type Option struct {
	// Name is the field's.
	Name string
	// Help says what the command line's flag is for; empty where each command has a flag of its own, or none.
	Help string
	// Values are those that it takes, the default first; nil where there is no list of them.
	Values []string
	// Choice returns where a job's options hold what was chosen: a *bool, which is off by default, a *Choice, which is
	// on, a *string, which is one of Values and empty for the first, or a *time.Duration, which is a limit. It is nil
	// where more than this has to be checked; services/gateway/options does so then.
	Choice func(*Options) any
}

// AllOptions returns the table, in the order in which options are checked. The slice is shared and may not be changed: every job that is shown goes through it.
func AllOptions() []Option { return optionTable }

var optionTable = []Option{
	{Name: "lane"},
	{Name: "languages", Help: "languages to recognise, e.g. eng+deu, or auto"},
	{Name: "ocr", Help: "auto (the default), force, skip or redo",
		Values: []string{string(OCRAuto), string(OCRForce), string(OCRSkip), string(OCRRedo)}},
	{Name: "rotate", Help: "auto (the default): turn scans upright; off", Values: []string{"auto", "off"}},
	{Name: "engine", Help: "tesseract (the default); vision or auto: a vision model too, which pictures are sent to",
		Values: AllEngines(), Choice: func(o *Options) any { return &o.Engine }},
	{Name: "pages", Help: "pages to process, e.g. 1-3,7,12-"},
	{Name: "artifacts", Help: "what to make, comma-separated: " + strings.Join(artifactNames(), ", ") + ", or all",
		Values: append([]string{"all"}, artifactNames()...)},
	{Name: "document_timeout", Help: "how long a document may take, up to the server's limit, e.g. 30m",
		Choice: func(o *Options) any { return &o.DocumentTimeout }},
	{Name: "page_timeout", Help: "how long an engine may take over a page, up to the server's limit, e.g. 90s",
		Choice: func(o *Options) any { return &o.PageTimeout }},
	{Name: "stall_timeout", Help: "how long a job may go on without moving, up to the server's limit",
		Choice: func(o *Options) any { return &o.StallTimeout }},
	{Name: "retention", Help: "how long results are kept, e.g. 30d; 0 for ever; without it, the server's choice"},
	{Name: "password"},
	{Name: "deskew", Help: "straighten skewed and bent scans", Choice: func(o *Options) any { return &o.Deskew }},
	{Name: "tables", Help: "find tables", Choice: func(o *Options) any { return &o.Tables }},
	{Name: "raw_csv", Help: "write cells of tables as they are, also those that a spreadsheet would run",
		Choice: func(o *Options) any { return &o.RawCSV }},
	{Name: "lean_json", Help: "leave the boxes of words out of document.json",
		Choice: func(o *Options) any { return &o.LeanJSON }},
	{Name: "allow_signature_invalidation", Help: "make searchable.pdf although that breaks signatures",
		Choice: func(o *Options) any { return &o.AllowSignatureInvalidation }},
	{Name: "dedupe", Help: "take over the results of an earlier job with the same bytes and options",
		Choice: func(o *Options) any { return &o.Dedupe }},
	{Name: "chunk_words", Help: "words of a passage in chunks.jsonl, 50 to 2000; 0 for the server's choice"},
}

func artifactNames() []string {
	var names []string
	for _, a := range AllArtifacts() {
		names = append(names, string(a))
	}
	return names
}
