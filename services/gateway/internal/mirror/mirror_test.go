package mirror

import (
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// told is what the bucket tells of a key.
type told struct {
	jetstream.KeyValueEntry
	revision uint64
	op       jetstream.KeyValueOp
	value    string
}

func (e told) Key() string                     { return "k" }
func (e told) Revision() uint64                { return e.revision }
func (e told) Operation() jetstream.KeyValueOp { return e.op }
func (e told) Value() []byte                   { return []byte(e.value) }

// What this process wrote is known at once, and what the bucket tells late does not undo it.
func TestLateNewsUndoNothing(t *testing.T) {
	t.Parallel()
	m := &Mirror[string]{log: slog.New(slog.DiscardHandler), known: map[string]entry[string]{}}
	for _, step := range []struct {
		name string
		do   func()
		want string // "" for none
	}{
		{"the bucket tells", func() { m.note(t.Context(), told{revision: 1, value: `"a"`}) }, "a"},
		{"written here", func() { m.Set("k", "c", 3) }, "c"},
		{"what was before", func() { m.note(t.Context(), told{revision: 2, value: `"b"`}) }, "c"},
		{"the same", func() { m.note(t.Context(), told{revision: 3, value: `"c"`}) }, "c"},
		{"removed here", func() { m.Remove("k") }, ""},
		{"what was removed", func() { m.note(t.Context(), told{revision: 3, value: `"c"`}) }, ""},
		{"that it was removed", func() { m.note(t.Context(), told{revision: 4, op: jetstream.KeyValueDelete}) }, ""},
		{"made anew elsewhere", func() { m.note(t.Context(), told{revision: 5, value: `"e"`}) }, "e"},
		{"no JSON", func() { m.note(t.Context(), told{revision: 6, value: `e`}) }, ""},
	} {
		step.do()
		got, ok := m.Get("k")
		if got != step.want || ok != (step.want != "") || (len(m.Select(func(string) bool { return true })) == 1) != ok {
			t.Errorf("%s: got %q, %v, want %q", step.name, got, ok, step.want)
		}
	}
}
