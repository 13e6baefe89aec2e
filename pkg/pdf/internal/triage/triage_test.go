package triage

import "testing"

func TestDecideKind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		facts Facts
		want  Kind
	}{
		{"nothing drawn", Facts{}, Blank},
		{"a few lines and boxes", Facts{Paths: 5, Segments: 20}, Blank},
		{"text", Facts{Chars: 2000, Words: 300, TextObjects: 40}, Native},
		{"a page number alone", Facts{Chars: 2, TextObjects: 1}, Native},
		{"a scan", Facts{Images: 1, ImageCover: 1, BareCover: 1}, Scanned},
		{"a small picture and no text", Facts{Images: 1, ImageCover: 0.05, BareCover: 0.05}, Scanned},
		{"a scan with a page number in text", Facts{Chars: 3, TextObjects: 1, Images: 1, ImageCover: 1, BareCover: 0.99},
			Mixed},
		{"a scan with two invisible characters",
			Facts{Chars: 2, Invisible: 2, TextObjects: 1, Images: 1, ImageCover: 1, BareCover: 0.99}, Scanned},
		{"a scan whose few characters are bad", Facts{Chars: 4, Bad: 4, TextObjects: 1, Images: 1, ImageCover: 1}, Scanned},
		{"outlines of text", Facts{Paths: 400, Segments: 5000}, Scanned},
		{"outlines of text with a stamp", Facts{Chars: 5, TextObjects: 1, Paths: 400, Segments: 5000}, Mixed},
		{"text that has no characters", Facts{TextObjects: 30}, Scanned},
		{"a stamp alone", Facts{Annotations: true}, Scanned},
		{"shading alone", Facts{Shadings: 1}, Scanned},
		{"private-use text", Facts{Chars: 1000, Bad: 900, TextObjects: 30}, Garbled},
		{"a bullet list in a symbol font", Facts{Chars: 1000, Bad: 30, TextObjects: 30}, Native},
		{"a symbol or two", Facts{Chars: 2, Bad: 2, TextObjects: 1}, Native},
		{"text without mapping", Facts{Chars: 1000, Unmapped: 0.9, TextObjects: 30}, Garbled},
		{"a sound text layer", Facts{Chars: 2000, Invisible: 2000, Words: 300, Odd: 2, TextObjects: 300, Images: 1,
			ImageCover: 1, BareCover: 0.1}, Layered},
		{"a text layer that leaves much out", Facts{Chars: 2000, Invisible: 2000, Words: 300, TextObjects: 300, Images: 1,
			ImageCover: 1, BareCover: 0.5}, LayeredMixed},
		{"a poor text layer", Facts{Chars: 2000, Invisible: 2000, Words: 300, Odd: 40, TextObjects: 300, Images: 1,
			ImageCover: 1, BareCover: 0.1}, Garbled},
		{"odd words that can be seen", Facts{Chars: 2000, Words: 300, Odd: 40, TextObjects: 300, Images: 1, ImageCover: 1,
			BareCover: 0.1}, Native},
		{"odd words in too short a layer", Facts{Chars: 30, Invisible: 30, Words: 5, Odd: 2, TextObjects: 3, Images: 1,
			ImageCover: 1, BareCover: 0.1}, Layered},
		{"text and a large picture", Facts{Chars: 900, Words: 150, TextObjects: 20, Images: 1, ImageCover: 0.4,
			BareCover: 0.38}, Mixed},
		{"text and a logo", Facts{Chars: 900, Words: 150, TextObjects: 20, Images: 1, ImageCover: 0.04, BareCover: 0.04},
			Native},
		{"text over a background image", Facts{Chars: 2000, Words: 300, TextObjects: 20, Images: 1, ImageCover: 1,
			BareCover: 0.1}, Native},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := DecideKind(tt.facts); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCorrectKind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		kind  Kind
		sight RasterFacts
		want  Kind
	}{
		{"white paper", Scanned, RasterFacts{}, Blank},
		{"dust", Scanned, RasterFacts{Ink: 0.0003}, Blank},
		{"a page number", Scanned, RasterFacts{Ink: 0.0001, Letters: 2}, Scanned},
		{"one stroke across", Scanned, RasterFacts{Ink: 0.001}, Scanned},
		{"text", Scanned, RasterFacts{Ink: 0.04, Letters: 1200}, Scanned},
		{"a photograph beside text", Mixed, RasterFacts{Ink: 0.3, Letters: 5}, Native},
		{"a picture of text beside text", Mixed, RasterFacts{Ink: 0.05, Letters: 200}, Mixed},
		{"a layer over text", Layered, RasterFacts{Ink: 0.05}, Layered},
		{"a layer over white paper", Layered, RasterFacts{}, Native},
		{"a layer beside a photograph", LayeredMixed, RasterFacts{Ink: 0.3, Letters: 5}, Layered},
		{"a layer beside a picture of text", LayeredMixed, RasterFacts{Ink: 0.05, Letters: 200}, LayeredMixed},
		{"garbled text is garbled whatever it looks like", Garbled, RasterFacts{}, Garbled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := CorrectKind(tt.kind, tt.sight); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]string{Native: "native", Scanned: "scanned", Mixed: "mixed", Blank: "blank",
		Garbled: "garbled", Layered: "layered", LayeredMixed: "layered_mixed"} {
		if kind.String() != want {
			t.Errorf("got %s, want %s", kind, want)
		}
		if got := kind.WantsOCR(); got != (kind != Native && kind != Blank) {
			t.Errorf("%s wants recognition: got %t", kind, got)
		}
	}
}
