package document

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestJSONIsAsItsSchemaSays(t *testing.T) {
	t.Parallel()
	p := page(1, text(layout.Title, 72, 40, 20, 1, "Title"), prose(72),
		table(72, 300, 200, []string{"a", "b"}, []string{"c", "d"}), text(layout.ListItem, 72, 300, 10, 1, "• item"))
	plan := planned(t, nil, p, page(2))
	DetectLanguages(p)
	var b strings.Builder
	j, err := NewJSONWriter(&b, Head{
		Version: "inkstream.v1", Job: "j", SHA256: strings.Repeat("0", 64), PageCount: 2, Language: plan.Language(),
		Words:       plan.Words,
		TableMerges: []Merge{{Tables: []TableRef{{1, 1}, {2, 1}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*inkstreamv1.Page{p, page(2)} {
		if err := j.WritePage(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := schema(t).Validate([]byte(b.String())); err != nil {
		t.Errorf("%v\n%s", err, b.String())
	}
	var doc struct{ Pages []json.RawMessage }
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil || len(doc.Pages) != 2 {
		t.Errorf("%d pages, error %v; want 2", len(doc.Pages), err)
	}
}

func TestLeanJSONIsAsItsSchemaSays(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	j, err := NewJSONWriter(&b, Head{Version: "inkstream.v1", Job: "j", SHA256: strings.Repeat("0", 64), PageCount: 1,
		Lean: true})
	if err != nil {
		t.Fatal(err)
	}
	p := page(1, text(layout.Title, 72, 40, 20, 1, "Title of words"))
	if err := errors.Join(j.WritePage(p), j.Close()); err != nil {
		t.Fatal(err)
	}
	if err := schema(t).Validate([]byte(b.String())); err != nil {
		t.Errorf("%v\n%s", err, b.String())
	}
	if lines := `"lines":[{"bbox":[`; !strings.Contains(b.String(), lines) || !strings.Contains(b.String(), `{"text":"Title","font":1}`) {
		t.Errorf("got %s, want lines with boxes, and words without", b.String())
	}
}
