package jobs

import (
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// This file makes every message between stages. A document goes along this line:
//
//	          First           Scan          Release           OCR         Recognised
//	gateway ────────> ingest ──────> scan ─────────> render ───────> ocr ────────────> index
//	                                                   └──────────── Pages ──────────────^
//
// The other messages:
//
//	message        from                             to       why
//	Release        index                            render   a chunk is done: the next one of its turn
//	Continuation   render                           render   the rest of a chunk whose pages take long
//	SlowPage       render                           render   the same from a page that takes longer than a first try
//	Render         ocr, index                       render   a chunk once more, what a crash took of it is missing
//	Finalise       ingest, scan, index              index    nothing is left to do but to end the run
//	First          index                            ingest   there is nothing to take over from another job
//	First          retry, the end of a leader       ingest   another run, or work that waited for another job's; to scan
//	                                                         or index where that is where the run begins
//	Remove         deletion, expiry, stage          index    the job is gone
//	Open           reconciler                       any      what a job should have in flight that stands still
//	Replay         gateway                          any      a dead letter once more
//
// A message id is <job>.<run>.<stage>.<unit>, with #r<replay> after it for one that is sent again, so that the broker
// does not take it for a repeat.

// The units that a run has once.
const (
	documentUnit = "document"
	// FinaliseUnit is the end of a run.
	FinaliseUnit = "finalise"
	// RemoveUnit is the removal of a job.
	RemoveUnit = "remove"
)

// DocumentUnitName names the one unit that a run has at ingest and at scan.
func DocumentUnitName() string { return documentUnit }

// ChunkUnitName names a chunk within a run.
func ChunkUnitName(chunk int) string { return "chunk-" + strconv.Itoa(chunk) }

// PageUnitName names a page within a run.
func PageUnitName(page int) string { return "page-" + strconv.Itoa(page) }

// RenderUnitName names a task of render: the chunk, and the page that it goes on with, 0 for the chunk's first.
func RenderUnitName(chunk, fromPage int) string {
	name := ChunkUnitName(chunk)
	if fromPage > 0 {
		name += "-from-" + strconv.Itoa(fromPage)
	}
	return name
}

// NewUnit returns the part of a task that names its job.
func NewUnit(r *job.Record) *busv1.Unit {
	return &busv1.Unit{Tenant: r.Tenant, Job: string(r.ID), Run: int32(r.Run)}
}

// SourceBlob returns the reference to a job's document.
func SourceBlob(r *job.Record) *busv1.Blob {
	return &busv1.Blob{Key: job.SourceKey(r.Tenant, r.ID), Size: r.Size, Sha256: r.SHA256}
}

// FirstMessage returns the message that starts a job's present run; replay sets it apart from an earlier one, 0 for
// the first.
func FirstMessage(r *job.Record, replay int) bus.Message {
	lane := bus.Lane(r.Options.Lane)
	switch {
	case r.DuplicateOf != "":
		return FinaliseMessage(r, lane, replay) // there is nothing to do but take over what another job has
	case r.PageCount > 0:
		return ScanMessage(r, lane, replay)
	}
	return bus.Message{
		Stage: bus.Ingest, Lane: lane, Unit: documentUnit, Replay: replay,
		Task: &busv1.IngestTask{Unit: NewUnit(r), Source: SourceBlob(r)},
	}
}

// ScanMessage returns the message that has a document examined that was opened; replay as in FirstMessage.
func ScanMessage(r *job.Record, lane bus.Lane, replay int) bus.Message {
	return bus.Message{
		Stage: bus.Scan, Lane: lane, Unit: documentUnit, Replay: replay,
		Task: &busv1.ScanTask{Unit: NewUnit(r), Source: SourceBlob(r)},
	}
}

// RenderMessage returns the message that releases a chunk; replay sets it apart from an earlier release, 0 for the
// first.
func RenderMessage(r *job.Record, lane bus.Lane, chunk, replay int) bus.Message {
	first, last := r.ChunkRange(chunk)
	return bus.Message{
		Stage: bus.Render, Lane: lane, Unit: RenderUnitName(chunk, 0), Replay: replay,
		Task: &busv1.RenderTask{
			Unit: NewUnit(r), Source: SourceBlob(r), Chunk: int32(chunk), FirstPage: int32(first), LastPage: int32(last),
			Replay: int32(replay),
		},
	}
}

// ReleaseMessage returns the message that releases a chunk, or the next one of its turn that has open pages: of every
// Window-th chunk only one is in flight, and its end releases the next. It reports false where none has.
func ReleaseMessage(r *job.Record, p *job.Progress, lane bus.Lane, chunk int) (bus.Message, bool) {
	for ; chunk < r.ChunkCount(); chunk += max(r.Window, 1) {
		if first, last := r.ChunkRange(chunk); !p.PagesDone(first, last) {
			return RenderMessage(r, lane, chunk, 0), true
		}
	}
	return bus.Message{}, false
}

// SlowPageMessage returns the message that goes on with a chunk at a page which takes longer than a first try.
func SlowPageMessage(t *busv1.RenderTask, page int) bus.Message {
	next := ContinuationMessage(t, bus.Batch, page)
	next.Unit += "-slow"
	next.Slow = true
	return next
}

// ContinuationMessage returns the message that goes on with a chunk from a page, where t gives way to other tasks.
func ContinuationMessage(t *busv1.RenderTask, lane bus.Lane, fromPage int) bus.Message {
	next := proto.CloneOf(t)
	next.FromPage = int32(fromPage)
	return bus.Message{
		Stage: bus.Render, Lane: lane, Unit: RenderUnitName(int(t.GetChunk()), fromPage), Replay: int(t.GetReplay()),
		Task: next,
	}
}

// OCRMessage returns the message that has one page of a rendered chunk recognised, whose raster has so many dots per
// inch. The batch is what render read on the chunk.
func OCRMessage(r *job.Record, t *busv1.RenderTask, lane bus.Lane, page int, dpi float32, batch *busv1.Blob,
	spans []*busv1.Span) bus.Message {
	return bus.Message{
		Stage: bus.OCR, Lane: lane, Unit: PageUnitName(page), Replay: int(t.GetReplay()),
		Task: &busv1.OcrTask{
			Unit: t.GetUnit(), Chunk: t.GetChunk(), Page: int32(page), Dpi: dpi, Batch: batch, Spans: spans,
			Replay: t.GetReplay(),
			Pages:  []int32{int32(page)}, //nolint:staticcheck // for an ocr service of the version before
			Raster: &busv1.Blob{Key: job.RasterKey(r.Tenant, r.ID, r.Run, page)},
		},
	}
}

// PagesMessage returns the message that has those pages of a rendered chunk indexed that need no recognition.
func PagesMessage(t *busv1.RenderTask, lane bus.Lane, pages []int32, batch *busv1.Blob,
	spans []*busv1.Span) bus.Message {
	return bus.Message{
		Stage: bus.Index, Lane: lane, Unit: ChunkUnitName(int(t.GetChunk())), Replay: int(t.GetReplay()),
		Task: &busv1.IndexTask{Unit: t.GetUnit(), Chunk: t.GetChunk(), Pages: pages, Batch: batch, Spans: spans},
	}
}

// RecognisedMessage returns the message that has a recognised page indexed, whose words are in the batch.
func RecognisedMessage(t *busv1.OcrTask, lane bus.Lane, page int, batch *busv1.Blob, spans []*busv1.Span) bus.Message {
	return bus.Message{
		Stage: bus.Index, Lane: lane, Unit: PageUnitName(page), Replay: int(t.GetReplay()),
		Task: &busv1.IndexTask{
			Unit: t.GetUnit(), Chunk: t.GetChunk(), Pages: []int32{int32(page)}, Batch: batch, Spans: spans,
		},
	}
}

// FinaliseMessage returns the message that ends a run whose last page is in; replay sets it apart from an earlier
// one, 0 for the first.
func FinaliseMessage(r *job.Record, lane bus.Lane, replay int) bus.Message {
	return bus.Message{
		Stage: bus.Index, Lane: lane, Unit: FinaliseUnit, Replay: replay,
		Task: &busv1.FinaliseTask{Unit: NewUnit(r), Finalise: true},
	}
}

// RemoveMessage returns the message that has everything removed which is kept of a job; replay sets it apart from an
// earlier one, 0 for the first.
func RemoveMessage(r *job.Record, replay int) bus.Message {
	return bus.Message{
		Stage: bus.Index, Lane: bus.Interactive, // the removal of a document must not wait for a batch
		Unit: RemoveUnit, Replay: replay,
		Task: &busv1.RemoveTask{Unit: NewUnit(r), Remove: true},
	}
}

// OpenMessages returns the messages that a job which has not ended should have in flight, derived from its state
// alone; there is at least one. The progress is nil where the document is not cut yet.
func OpenMessages(r *job.Record, p *job.Progress, replay int) []bus.Message {
	lane := bus.Lane(r.Lane())
	if r.PageCount == 0 || r.ChunkPages == 0 || p == nil || p.Run < r.Run {
		return []bus.Message{FirstMessage(r, replay)}
	}
	if p.AllPagesDone() {
		return []bus.Message{FinaliseMessage(r, lane, replay)}
	}
	// Of every Window-th chunk one is in flight, and its end releases the next: so it is the first of them that is not
	// done.
	window := max(r.Window, 1)
	var messages []bus.Message
	for start := range min(window, r.ChunkCount()) {
		for chunk := start; chunk < r.ChunkCount(); chunk += window {
			if first, last := r.ChunkRange(chunk); !p.PagesDone(first, last) {
				messages = append(messages, RenderMessage(r, lane, chunk, replay))
				break
			}
		}
	}
	return messages
}

// ReplayMessage returns the task of a dead letter as a message that can be published again: under an id of its own,
// which is the same at every try, and so are those of the tasks that follow from it. The old id may still be blocked
// by the broker.
func ReplayMessage(l bus.DeadLetter) (bus.Message, error) {
	task, err := NewTask(l.Stage, l.Schema, l.Payload)
	if err == nil {
		err = decodePayload(l.Payload, task)
	}
	if err != nil {
		return bus.Message{}, err
	}
	replay := int(l.Sequence)
	if f := task.ProtoReflect().Descriptor().Fields().ByName("replay"); f != nil {
		task.ProtoReflect().Set(f, protoreflect.ValueOfInt32(int32(replay)))
	}
	unit := l.Unit()
	if l.Stage == bus.Ingest || l.Stage == bus.Scan {
		unit = documentUnit
	}
	return bus.Message{Stage: l.Stage, Lane: l.Lane, Unit: unit, Replay: replay, Task: task}, nil
}
