package jobs_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

func TestReleaseMessageSkipsDoneChunks(t *testing.T) {
	t.Parallel()
	r := &job.Record{ID: "j", Tenant: "t", Run: 2, PageCount: 10, ChunkPages: 2, Window: 2}
	for _, tt := range []struct {
		pages string
		from  int
		want  string
	}{
		{"..........", 0, "chunk-0"},
		{"nn........", 0, "chunk-2"},
		{"nnnnnn....", 0, "chunk-4"},
		{"nnnnnn...n", 4, "chunk-4"},
		{"nnnnnnnnnn", 0, ""},
		{"nn..nnnnnn", 0, ""},
		{"nn.nnnnnnn", 1, "chunk-1"},
		{"..........", 5, ""},
	} {
		m, open := jobs.ReleaseMessage(r, &job.Progress{Run: 2, Pages: tt.pages}, bus.Batch, tt.from)
		if m.Unit != tt.want || open != (tt.want != "") {
			t.Errorf("%s from %d: got %q, %t, want %q", tt.pages, tt.from, m.Unit, open, tt.want)
		}
	}
}

// Each message names its stage, its lane, and a unit that makes its id.
func TestMessageIDs(t *testing.T) {
	t.Parallel()
	r := &job.Record{ID: "j", Tenant: "t", Run: 2, PageCount: 20, ChunkPages: 16, Window: 4,
		Options: job.Options{Lane: "batch"}}
	unopened := &job.Record{ID: "j", Tenant: "t", Run: 1, Options: job.Options{Lane: "batch"}}
	duplicate := &job.Record{ID: "j", Tenant: "t", Run: 1, DuplicateOf: "other", Options: job.Options{Lane: "batch"}}
	chunk := &busv1.RenderTask{Unit: jobs.NewUnit(r), Chunk: 1, FirstPage: 17, LastPage: 20, Replay: 5}
	page := &busv1.OcrTask{Unit: jobs.NewUnit(r), Chunk: 1, Page: 18, Replay: 5}
	for _, tt := range []struct {
		message bus.Message
		id      string
		lane    bus.Lane
	}{
		{jobs.FirstMessage(unopened, 0), "j.1.ingest.document", bus.Batch},
		{jobs.FirstMessage(duplicate, 3), "j.1.index.finalise#r3", bus.Batch},
		{jobs.FirstMessage(r, 0), "j.2.scan.document", bus.Batch},
		{jobs.ScanMessage(r, bus.Interactive, 0), "j.2.scan.document", bus.Interactive},
		{jobs.RenderMessage(r, bus.Batch, 1, 4), "j.2.render.chunk-1#r4", bus.Batch},
		{jobs.ContinuationMessage(chunk, bus.Batch, 18), "j.2.render.chunk-1-from-18#r5", bus.Batch},
		{jobs.OCRMessage(r, chunk, bus.Batch, 18, 150, nil, nil), "j.2.ocr.page-18#r5", bus.Batch},
		{jobs.PagesMessage(chunk, bus.Batch, []int32{17, 19}, nil, nil), "j.2.index.chunk-1#r5", bus.Batch},
		{jobs.RecognisedMessage(page, bus.Batch, 18, nil, nil), "j.2.index.page-18#r5", bus.Batch},
		{jobs.FinaliseMessage(r, bus.Batch, 0), "j.2.index.finalise", bus.Batch},
		{jobs.RemoveMessage(r, 0), "j.2.index.remove", bus.Interactive},
	} {
		if got := tt.message.MessageID(); got != tt.id || tt.message.Lane != tt.lane {
			t.Errorf("got %s, lane %s, want %s, lane %s", got, tt.message.Lane, tt.id, tt.lane)
		}
	}
}

// Tasks are told apart by their schema, those of the version before, which have one schema, by their flags.
func TestNewTask(t *testing.T) {
	t.Parallel()
	const index, unit = "inkstream.bus.v1.IndexTask", `{"unit":{"tenant":"t","job":"j","run":1}`
	for _, tt := range []struct {
		name, schema, payload string
		want                  bus.Task
	}{
		{"pages", index, unit + `,"pages":[1]}`, &busv1.IndexTask{}},
		{"end of a run", "inkstream.bus.v1.FinaliseTask", unit + `,"finalise":true}`, &busv1.FinaliseTask{}},
		{"removal", "inkstream.bus.v1.RemoveTask", unit + `,"remove":true}`, &busv1.RemoveTask{}},
		{"end of a run, of the version before", index, unit + `,"finalise":true}`, &busv1.FinaliseTask{}},
		{"removal, of the version before", index, unit + `,"remove":true}`, &busv1.RemoveTask{}},
		{"end of a run without a schema", "", unit + `,"finalise":true}`, &busv1.FinaliseTask{}},
	} {
		got, err := jobs.NewTask(bus.Index, tt.schema, []byte(tt.payload))
		if err != nil || proto.MessageName(got) != proto.MessageName(tt.want) {
			t.Errorf("%s: got %T, %v, want %T", tt.name, got, err, tt.want)
		}
	}
	if got, err := jobs.NewTask(bus.Index, index, []byte("{")); err == nil {
		t.Errorf("half a task: got %T, want an error", got)
	}
	if got, err := jobs.NewTask("press", "", nil); err == nil {
		t.Errorf("unknown stage: got %T, want an error", got)
	}
}

// A service that is yet to be updated reads what this version sends: an IndexTask with its flags, an OcrTask's list.
func TestTheVersionBeforeReadsWhatIsSent(t *testing.T) {
	t.Parallel()
	r := &job.Record{ID: "j", Tenant: "t", Run: 1, PageCount: 3, ChunkPages: 16}
	read := func(m bus.Message, as bus.Task) {
		t.Helper()
		data, err := protojson.Marshal(m.Task)
		if err == nil {
			err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, as)
		}
		if err != nil || as.GetUnit().GetJob() != "j" {
			t.Errorf("%s read as %T: %v, %v", data, as, as, err)
		}
	}
	var finalise, remove busv1.IndexTask
	read(jobs.FinaliseMessage(r, bus.Batch, 0), &finalise)
	read(jobs.RemoveMessage(r, 0), &remove)
	//nolint:staticcheck // what the version before reads
	if !finalise.GetFinalise() || finalise.GetRemove() || !remove.GetRemove() || remove.GetFinalise() {
		t.Errorf("got %v and %v, want the flag of each", &finalise, &remove)
	}
	var page busv1.OcrTask
	read(jobs.OCRMessage(r, &busv1.RenderTask{Unit: jobs.NewUnit(r)}, bus.Batch, 2, 150, nil, nil), &page)
	if pages := page.GetPages(); len(pages) != 1 || pages[0] != 2 { //nolint:staticcheck // what the version before reads
		t.Errorf("got pages %v, want page 2", pages)
	}
}

func TestOCRPage(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]int{`{"page":7,"pages":[7]}`: 7, `{"pages":[3]}`: 3, `{}`: 0} {
		var task busv1.OcrTask
		if err := protojson.Unmarshal([]byte(payload), &task); err != nil {
			t.Fatal(err)
		}
		if got := jobs.OCRPage(&task); got != want {
			t.Errorf("%s: got page %d, want %d", payload, got, want)
		}
	}
}

// A dead letter is replayed as what it is now, also one of the version before.
func TestReplayMessage(t *testing.T) {
	t.Parallel()
	const unit = `{"unit":{"tenant":"t","job":"j","run":1}`
	for _, tt := range []struct {
		name   string
		letter bus.DeadLetter
		want   bus.Task
		id     string
	}{
		{"removal of the version before", bus.DeadLetter{Stage: bus.Index, Schema: "inkstream.bus.v1.IndexTask",
			MsgID: "j.1.index.remove#r5", Payload: []byte(unit + `,"remove":true}`)}, &busv1.RemoveTask{},
			"j.1.index.remove#r9"},
		{"page of the version before", bus.DeadLetter{Stage: bus.OCR, Schema: "inkstream.bus.v1.OcrTask",
			MsgID: "j.1.ocr.page-3", Payload: []byte(unit + `,"pages":[3]}`)}, &busv1.OcrTask{}, "j.1.ocr.page-3#r9"},
		{"document without an id", bus.DeadLetter{Stage: bus.Scan, Payload: []byte(unit + `}`)}, &busv1.ScanTask{},
			"j.1.scan.document#r9"},
	} {
		tt.letter.Sequence = 9
		m, err := jobs.ReplayMessage(tt.letter)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if proto.MessageName(m.Task) != proto.MessageName(tt.want) || m.MessageID() != tt.id {
			t.Errorf("%s: got %T, %s, want %T, %s", tt.name, m.Task, m.MessageID(), tt.want, tt.id)
		}
		if page, ok := m.Task.(*busv1.OcrTask); ok && (page.GetReplay() != 9 || jobs.OCRPage(page) != 3) {
			t.Errorf("%s: got %v, want page 3 with the number of the replay", tt.name, page)
		}
	}
}
