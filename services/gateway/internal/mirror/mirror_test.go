package mirror

import (
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// fakeEntry is what the bucket tells of a key.
type fakeEntry struct {
	jetstream.KeyValueEntry
	revision uint64
	op       jetstream.KeyValueOp
	value    string
}

func (e fakeEntry) Key() string                     { return "k" }
func (e fakeEntry) Revision() uint64                { return e.revision }
func (e fakeEntry) Operation() jetstream.KeyValueOp { return e.op }
func (e fakeEntry) Value() []byte                   { return []byte(e.value) }

// What this process wrote is known at once, and what the bucket tells late does not undo it.
func TestLateEntriesAreIgnored(t *testing.T) {
	t.Parallel()
	m := &Mirror[string]{log: slog.New(slog.DiscardHandler), entries: map[string]entry[string]{}}
	for _, step := range []struct {
		name string
		do   func()
		want string // "" for none
	}{
		{"the bucket tells", func() { m.applyEntry(t.Context(), fakeEntry{revision: 1, value: `"a"`}) }, "a"},
		{"written here", func() { m.Set("k", "c", 3) }, "c"},
		{"what was before", func() { m.applyEntry(t.Context(), fakeEntry{revision: 2, value: `"b"`}) }, "c"},
		{"the same", func() { m.applyEntry(t.Context(), fakeEntry{revision: 3, value: `"c"`}) }, "c"},
		{"removed here", func() { m.Remove("k") }, ""},
		{"what was removed", func() { m.applyEntry(t.Context(), fakeEntry{revision: 3, value: `"c"`}) }, ""},
		{"that it was removed", func() { m.applyEntry(t.Context(), fakeEntry{revision: 4, op: jetstream.KeyValueDelete}) },
			""},
		{"made anew elsewhere", func() { m.applyEntry(t.Context(), fakeEntry{revision: 5, value: `"e"`}) }, "e"},
		{"no JSON", func() { m.applyEntry(t.Context(), fakeEntry{revision: 6, value: `e`}) }, ""},
	} {
		step.do()
		got, ok := m.Get("k")
		if got != step.want || ok != (step.want != "") || (len(m.Select(func(string) bool { return true })) == 1) != ok {
			t.Errorf("%s: got %q, %v, want %q", step.name, got, ok, step.want)
		}
	}
}
