package jobs

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// This file reads the tasks of the version before, which may be queued when this one starts, or come from services
// that are yet to be updated. The version before has one IndexTask for what are three messages now, and a list of
// pages, of one, in OcrTask. What is sent here can be read by the version before as well.

// OCRPage returns the page that a task is about; 0, which no document has, where it names none.
func OCRPage(t *busv1.OcrTask) int {
	if t.GetPage() != 0 {
		return int(t.GetPage())
	}
	if pages := t.GetPages(); len(pages) > 0 { //nolint:staticcheck // of the version before
		return int(pages[0])
	}
	return 0
}

// NewTask returns an empty task of the kind that a message holds: of a stage, and of a schema where the stage has
// several kinds. The payload decides between those of the version before, which have one schema.
func NewTask(stage bus.Stage, schema string, payload []byte) (bus.Task, error) {
	switch stage {
	case bus.Ingest:
		return &busv1.IngestTask{}, nil
	case bus.Scan:
		return &busv1.ScanTask{}, nil
	case bus.Render:
		return &busv1.RenderTask{}, nil
	case bus.OCR:
		return &busv1.OcrTask{}, nil
	case bus.Index:
		return newIndexTask(schema, payload)
	default:
		return nil, fault.New(fault.Internal, "task of stage %q", stage)
	}
}

func newIndexTask(schema string, payload []byte) (bus.Task, error) {
	switch protoreflect.FullName(schema) {
	case proto.MessageName(&busv1.FinaliseTask{}):
		return &busv1.FinaliseTask{}, nil
	case proto.MessageName(&busv1.RemoveTask{}):
		return &busv1.RemoveTask{}, nil
	}
	var t busv1.IndexTask
	if err := decodePayload(payload, &t); err != nil {
		return nil, err
	}
	switch {
	case t.GetFinalise(): //nolint:staticcheck // of the version before
		return &busv1.FinaliseTask{}, nil
	case t.GetRemove(): //nolint:staticcheck // of the version before
		return &busv1.RemoveTask{}, nil
	default:
		return &busv1.IndexTask{}, nil
	}
}

func decodePayload(payload []byte, t bus.Task) error {
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(payload, t); err != nil {
		return fault.Wrap(fault.Permanent, fault.Internal, fmt.Errorf("decode %s: %w", proto.MessageName(t), err))
	}
	return nil
}
