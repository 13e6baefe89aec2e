package document

import (
	"testing"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestInlineEastern has words of Japanese that only the room between them sets apart, and items whose marker nothing
// sets apart from the text.
func TestInlineEastern(t *testing.T) {
	t.Parallel()
	// line sets words at so many points from the left; a character is ten wide.
	line := func(angle int32, at []float32, words ...string) []*inkstreamv1.Line {
		l := &inkstreamv1.Line{Angle: angle}
		for i, text := range words {
			end := at[i] + 10*float32(len([]rune(text)))
			box := []float32{at[i], 50, end, 60}
			if angle == 90 {
				box = []float32{50, at[i], 60, end}
			}
			l.Words = append(l.Words, &inkstreamv1.Word{Text: text, Bbox: box, Size: 10})
		}
		return []*inkstreamv1.Line{l}
	}
	linked := line(0, []float32{50, 85, 130}, "誰でも", "メンテナ", "になる")
	linked[0].Words[1].Link = 1
	for _, tt := range []struct {
		name  string
		lines []*inkstreamv1.Line
		skip  string
		want  string
	}{
		{"a wide gap is a blank", line(0, []float32{50, 150}, "氏名", "山田太郎"), "", "氏名 山田太郎"},
		{"a wide gap in a column is one", line(90, []float32{50, 150}, "氏名", "山田太郎"), "", "氏名 山田太郎"},
		{"room beside a link is none", linked, "", "誰でも[メンテナ](https://example.com/)になる"},
		{"a sign is left out", line(0, []float32{50}, "・検索機能"), "・", "検索機能"},
		{"a number stays", line(0, []float32{50}, "一、検索機能"), "一、", "一、検索機能"},
		{"a number apart stays", line(0, []float32{50, 100}, "（一）", "検索機能"), "（一）", "（一） 検索機能"},
		{"a number that markdown writes is left out", line(0, []float32{50}, "1.検索機能"), "1.", "検索機能"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := inlineWriter{links: newLinkBudget(), skip: tt.skip}
			in.links.startPage([]*inkstreamv1.Link{{Uri: "https://example.com/"}})
			if got := string(in.appendLines(nil, tt.lines)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	page := page(1, &inkstreamv1.Block{Type: layout.Paragraph, Lines: line(0, []float32{50, 150}, "氏名", "山田太郎")})
	if got, want := layout.PageText(page), "氏名 山田太郎\n"; got != want {
		t.Errorf("text: got %q, want %q", got, want)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, uri, want string }{
		{"as it is", "https://example.com/a_b?c=*d*&e=[f]#g", "[b](https://example.com/a_b?c=*d*&e=[f]#g)"},
		{"brackets", "https://example.com/(a) b", "[b](https://example.com/%28a%29%20b)"},
		{"a backslash would escape the end", `https://example.com/\`, "[b](https://example.com/%5C)"},
		{"a backtick could begin code", "https://example.com/`", "[b](https://example.com/%60)"},
		{"a control character ends it", "https://example.com/\x01\v", "[b](https://example.com/%01%0B)"},
		{"nowhere to go", "javascript:alert(1)", "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := inlineWriter{links: newLinkBudget()}
			in.links.startPage([]*inkstreamv1.Link{{Uri: tt.uri}})
			if got := string(in.appendLines(nil, []*inkstreamv1.Line{{Words: []*inkstreamv1.Word{{Text: "b", Link: 1}}}})); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestNoImageOfALink has a link right behind an exclamation mark, with which markdown would fetch an image from there.
func TestNoImageOfALink(t *testing.T) {
	t.Parallel()
	in := inlineWriter{links: newLinkBudget()}
	in.links.startPage([]*inkstreamv1.Link{{Uri: "https://example.com/"}})
	word := func(text string, x float32, link int32) *inkstreamv1.Word {
		return &inkstreamv1.Word{Text: text, Bbox: []float32{x, 50, x + 10, 60}, Size: 10, Link: link}
	}
	lines := []*inkstreamv1.Line{{Words: []*inkstreamv1.Word{word("日!", 50, 0), word("（本）", 60, 1)}}}
	if got, want := string(in.appendLines(nil, lines)), `日\![（本）](https://example.com/)`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
