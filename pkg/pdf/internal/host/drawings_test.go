package host

import (
	"math"
	"testing"
)

func TestClusterDrawings(t *testing.T) {
	t.Parallel()
	page := area{0, 0, 600, 800}
	curve := func(x0, y0, x1, y1 float64) shape { return shape{area{x0, y0, x1, y1}, true, 8} }
	box := func(x0, y0, x1, y1 float64) shape { return shape{area{x0, y0, x1, y1}, false, 5} }
	for _, tt := range []struct {
		name   string
		shapes []shape
		want   []area
	}{
		{"nothing", nil, nil},
		{"boxes alone are a table or a frame", []shape{box(10, 10, 200, 200), box(20, 20, 100, 100), box(30, 100, 90, 190)},
			nil},
		{"curves that lie together", []shape{curve(10, 10, 40, 40), curve(42, 30, 80, 60), curve(60, 62, 90, 100)},
			[]area{{10, 10, 90, 100}}},
		{"two drawings apart, the larger first", []shape{
			curve(10, 10, 40, 40), curve(30, 30, 60, 60), curve(20, 20, 50, 50),
			curve(300, 300, 400, 400), curve(320, 300, 400, 420), curve(330, 310, 340, 320),
		}, []area{{300, 300, 400, 420}, {10, 10, 60, 60}}},
		{"too small", []shape{curve(10, 10, 20, 20), curve(12, 12, 22, 22), curve(14, 14, 24, 24)}, nil},
		{"a background", []shape{curve(0, 0, 600, 800), curve(-100, -100, 700, 900), curve(0, 0, 590, 790)}, nil},
		{"off the page, and no numbers", []shape{
			curve(1e9, 1e9, 2e9, 2e9), curve(-500, -500, -400, -400), curve(math.NaN(), 0, math.NaN(), 10),
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := clusterDrawings(tt.shapes, page)
			if len(got) != len(tt.want) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
			for i := range got {
				if got[i] != tt.want[i] {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}

func TestXMPFields(t *testing.T) {
	t.Parallel()
	const packet = `<?xpacket?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/" pdfaid:part="2">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">A title</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>One</rdf:li><rdf:li>Two</rdf:li></rdf:Seq></dc:creator>
<pdfaid:conformance>B</pdfaid:conformance><x:other>no</x:other></rdf:Description></rdf:RDF></x:xmpmeta>`
	got := parseXMPFields(packet)
	for key, want := range map[string]string{"dc:title": "A title", "dc:creator": "One; Two", "pdfaid:part": "2",
		"pdfaid:conformance": "B", "x:other": ""} {
		if got[key] != want {
			t.Errorf("%s: got %q, want %q", key, got[key], want)
		}
	}
	if c := claimedStandards(got); len(c) != 1 || c[0] != "PDF/A-2b" {
		t.Errorf("claims: got %v, want PDF/A-2b", c)
	}
	for _, bad := range []string{"", "<", "<a", "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "</a></b>"} {
		if got := parseXMPFields(bad); len(got) != 0 {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

func TestSignatureCoversFile(t *testing.T) {
	t.Parallel()
	if !coversWholeFile([]int64{0, 10, 20, 80}, 100) || coversWholeFile([]int64{0, 10, 20, 70}, 100) ||
		coversWholeFile([]int64{5, 10, 20, 80}, 100) || coversWholeFile(nil, 0) {
		t.Error("a signature's range is judged wrongly")
	}
}
