package options

import (
	"slices"
	"strconv"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// samples holds a choice that is not the default for each option that is not only on or off.
var samples = map[string]string{
	"lane": "batch", "languages": "eng+deu", "document_timeout": "10m", "page_timeout": "30s", "stall_timeout": "1m",
	"ocr": "force", "pages": "1-3,7,12-", "rotate": "off", "engine": "auto", "artifacts": "text,json",
	"chunk_words": "100", "retention": "7d", "password": "secret",
}

// sampleOf returns a choice for an option that is not its default.
func sampleOf(field protoreflect.FieldDescriptor) string {
	if field.Kind() == protoreflect.BoolKind {
		return strconv.FormatBool(!field.HasPresence()) // what is on by default is told apart from what is not given
	}
	return samples[string(field.Name())]
}

// An option that is in JobOptions, but not read, checked or shown, fails here.
func TestEveryOptionIsReadAndShown(t *testing.T) {
	t.Parallel()
	fields := (&inkstreamv1.JobOptions{}).ProtoReflect().Descriptor().Fields()
	defaults, err := NormaliseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := ToProto(defaults)
	for i := range fields.Len() {
		field := fields.Get(i)
		name := string(field.Name())
		text := sampleOf(field)
		isRow := func(o job.Option) bool { return o.Name == name }
		if text == "" || !slices.ContainsFunc(job.AllOptions(), isRow) || !slices.Contains(KnownFields, name) {
			t.Errorf("%s: there is no sample, no row in job.AllOptions, or no field of a form", name)
			continue
		}
		said := Fields{}
		if err := said.SetField(field.JSONName(), text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		o, err := said.ParseOptions()
		if err != nil || !o.ProtoReflect().Has(field) {
			t.Errorf("%s=%s: got %v, %v, want it set", name, text, o, err)
			continue
		}
		chosen, err := NormaliseOptions(o)
		if err != nil {
			t.Errorf("%s=%s: %v", name, text, err)
			continue
		}
		if name == FieldPassword {
			if chosen.Password.RevealText() != text || ToProto(chosen).GetPassword() != "" {
				t.Errorf("the password is not read, or shown")
			}
			continue
		}
		if got := ToProto(chosen); proto.Equal(got, shown) ||
			!got.ProtoReflect().Get(field).Equal(o.ProtoReflect().Get(field)) {
			t.Errorf("%s=%s: shown as %v, want it as chosen, and not as the default", name, text, got)
		}
		// What was shown, chosen again, is the same.
		if again, err := NormaliseOptions(ToProto(chosen)); err != nil || !sameOptions(again, chosen) {
			t.Errorf("%s=%s: shown and chosen again is %+v, %v, want %+v", name, text, again, err, chosen)
		}
	}
}

func sameOptions(a, b job.Options) bool { return proto.Equal(ToProto(a), ToProto(b)) }
