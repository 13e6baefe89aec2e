package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// indexedPages returns some pages of different lengths.
func indexedPages() []*inkstreamv1.Page {
	return []*inkstreamv1.Page{
		page(1, text(layout.Title, 72, 40, 20, 1, "Title — ünïcode"), prose(72)),
		outcome.NewSkippedPage(2, ""),
		page(3, table(72, 300, 200, []string{"a", "b"}, []string{"c", "d"})),
		page(4, prose(72), prose(200), prose(300)),
	}
}

// writeJSON returns document.json as it is written as a file, and the index of it, read back.
func writeJSON(t *testing.T, head Head, pages []*inkstreamv1.Page) (string, *JSONIndex) {
	t.Helper()
	var b strings.Builder
	j, err := NewJSONWriter(&b, head)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewJSONIndexWriter(head)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		if err := errors.Join(j.WritePage(p), w.WritePage(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := DecodeJSONIndex(w.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), x
}

// From its index and the pages any part of document.json is made, byte for byte.
func TestJSONIndexYieldsEveryPartOfTheJSON(t *testing.T) {
	t.Parallel()
	all := indexedPages()
	for _, pages := range [][]*inkstreamv1.Page{all, all[:1], nil} {
		for _, lean := range []bool{false, true} {
			want, x := writeJSON(t, Head{Version: "inkstream.v1", Job: "j", Filename: "a\nb", PageCount: len(pages), Lean: lean}, pages)
			if x.Size() != int64(len(want)) {
				t.Errorf("%d pages, lean %t: size %d, want %d", len(pages), lean, x.Size(), len(want))
			}
			offsets := []int64{0, 1, x.Size() - 1} // and about the ends of pages, and others
			for _, end := range x.ends[:len(pages)] {
				offsets = append(offsets, end-1, end, end+1)
			}
			for offset := int64(2); offset < x.Size(); offset += 97 {
				offsets = append(offsets, offset)
			}
			for _, offset := range offsets {
				for _, most := range []int64{1, 300, 1 << 20} {
					first, last, start := x.FindPages(offset, most)
					got, err := x.AppendPages(nil, first, pages[first-1:last])
					if err != nil {
						t.Fatal(err)
					}
					end := start + int64(len(got))
					if offset < start || offset >= end || string(got) != want[start:end] {
						t.Fatalf("%d pages, lean %t: at %d, %d bytes: pages %d to %d yield %q from %d on", len(pages), lean, offset, most,
							first, last, got, start)
					}
					if last > first && end-offset > most {
						t.Fatalf("at %d, %d bytes: pages %d to %d have %d more", offset, most, first, last, end-offset-most)
					}
				}
			}
		}
	}
}

func TestJSONIndexNoticesPagesOfAnotherLength(t *testing.T) {
	t.Parallel()
	pages := indexedPages()
	_, x := writeJSON(t, Head{PageCount: len(pages)}, pages)
	changed := proto.CloneOf(pages[3])
	changed.Notes = append(changed.Notes, "more")
	for _, wrong := range [][]*inkstreamv1.Page{{pages[2], changed}, {pages[3], pages[2]}, {outcome.NewSkippedPage(3, "")}} {
		if _, err := x.AppendPages(nil, 3, wrong); !errors.Is(err, errPageChanged) {
			t.Errorf("got %v, want that the page changed", err)
		}
	}
}

func TestDamagedJSONIndexesAreRefused(t *testing.T) {
	t.Parallel()
	w, err := NewJSONIndexWriter(Head{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WritePage(page(1)); err != nil {
		t.Fatal(err)
	}
	whole := string(w.Encode())
	head := whole[:strings.IndexByte(whole, '\n')+1]
	for n := range len(whole) {
		if _, err := DecodeJSONIndex([]byte(whole[:n])); !errors.Is(err, errCorruptJSONIndex) {
			t.Errorf("the first %d bytes of %d: %v", n, len(whole), err)
		}
	}
	for _, lengths := range []string{"\x02\x00\x00", "\x01\x02\x00", "\x01\x00\x02\x05", "\x01\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if _, err := DecodeJSONIndex([]byte(head + lengths)); !errors.Is(err, errCorruptJSONIndex) {
			t.Errorf("lengths %q: %v", lengths, err)
		}
	}
}

func TestPlanOfAllPagesIsThatOfEach(t *testing.T) {
	t.Parallel()
	var pages, planning []*inkstreamv1.Page
	for n := range int32(6) {
		pages = append(pages, page(n+1, text(layout.Paragraph, 72, 20, 8, 1, "A running head"), text(layout.Paragraph, 72, 100, 18, 1, "Heading"),
			prose(130), text(layout.Paragraph, 72, 780, 8, 1, fmt.Sprint(n+1))))
		planning = append(planning, proto.CloneOf(pages[n])) // it is carried out on them
	}
	stored := planned(t, nil, planning...).EncodePages(len(pages))
	all, err := DecodePlan(stored)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for i, p := range pages {
		one, err := DecodePlanOfPage(stored, i+1)
		if err != nil {
			t.Fatal(err)
		}
		a, b := proto.CloneOf(p), proto.CloneOf(p)
		if one.ApplyTo(a) {
			changed++
		}
		all.ApplyTo(b)
		if !proto.Equal(a, b) || one.Title != all.Title {
			t.Errorf("page %d: got %v, want %v", i+1, b, a)
		}
	}
	if changed == 0 {
		t.Error("the plan changes no page")
	}
}
