package structure

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

func TestObjectsPrintAsTheyRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"null", "null"}, {"true", "true"}, {" 12 ", "12"}, {"-1.50", "-1.50"}, {"12 0 R", "12 0 R"},
		{"/Na#20me", "/Na#20me"},
		{"(a(b)\\)\\101\\n)", "<6128622929410a>"}, {"<4 1 4>", "<4140>"}, {"[1 2 0 R 3 /A(b)]", "[1 2 0 R 3 /A <62>]"},
		{"<</A 1/B<</C[<41>]>> % comment\n/D 5 6 >>", ""},
		{"<</A 1/B<</C[<41>]>>/D 5 0 R>>", "<</A 1/B <</C [<41>]>>/D 5 0 R>>"},
		{"<</A>>", "<<>>"}, {"(open", ""}, {"<<", ""}, {")", ""}, {strings.Repeat("[", 100), ""},
	} {
		p := parser{b: []byte(tt.in + " ")}
		v, err := p.readValue(0)
		if (err != nil) != (tt.want == "") {
			t.Errorf("%q: error %v, want one: %t", tt.in, err, tt.want == "")
		}
		if got := string(v.AppendTo(nil)); err == nil && got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.in, got, tt.want)
		}
	}
}

// TestObjectsAreReadWholeWhereverTheyAreCut reads an object in a first piece that ends anywhere within it.
func TestObjectsAreReadWholeWhereverTheyAreCut(t *testing.T) {
	t.Parallel()
	const object = "7 0 obj\n<</Kids [12 0 R\n345 0 R]/Name /g2F/Flag true/Next 80 0 R/Text (a)>>\nendobj\n8 0 obj\n"
	for end := range strings.Index(object, "\nendobj") {
		if _, err := parseObject([]byte(object[:end]), 0); !errors.Is(err, errShort) && end > len("7 0 obj") {
			t.Errorf("%q: got %v, want %v", object[:end], err, errShort)
		}
	}
	if o, err := parseObject([]byte(object), 0); err != nil || o.Lookup("Next").Num != 80 || len(o.Lookup("Kids").List) != 2 {
		t.Errorf("got %s, %v", o.AppendTo(nil), err)
	}
}

func TestLastOfTwoEntriesCounts(t *testing.T) {
	t.Parallel()
	p := parser{b: []byte("<</A 1/A 2>> ")}
	v, err := p.readValue(0)
	if err != nil || v.Lookup("A").Num != 2 || v.WithEntry("A", NewInteger(3)).Lookup("A").Num != 3 {
		t.Errorf("got %s, error %v", v.AppendTo(nil), err)
	}
}

func TestGeometryGoesBack(t *testing.T) {
	t.Parallel()
	for turns := range 4 {
		g := Geometry{Left: 10, Bottom: 20, Right: 110, Top: 220, Turns: turns}
		w, h := g.DisplaySize()
		seen := map[string]bool{}
		for _, corner := range [][2]float64{{0, 0}, {w, 0}, {0, h}, {w, h}} {
			x, y := g.DisplayToUser(corner[0], corner[1])
			if (x != g.Left && x != g.Right) || (y != g.Bottom && y != g.Top) {
				t.Errorf("%d turns: corner %v is at %g, %g", turns, corner, x, y)
			}
			seen[fmt.Sprint(x, y)] = true
		}
		if len(seen) != 4 {
			t.Errorf("%d turns: got %d corners, want 4", turns, len(seen))
		}
	}
}

// extendDocument adds a content stream, a font and an annotation to every page.
func extendDocument(pdf []byte, password string) ([]byte, *PageTree, error) {
	f, err := Open(bytes.NewReader(pdf), int64(len(pdf)), password)
	if err != nil {
		return nil, nil, err
	}
	tree, err := f.ReadPageTree(1000)
	if err != nil {
		return nil, nil, err
	}
	u := f.BeginUpdate(tree)
	font, annotation := u.NewObject(), u.NewObject()
	u.PutObject(font, 0, Value{Kind: Dict, Entries: []Entry{{"Type", Value{Kind: Name, Raw: []byte("Font")}}}})
	u.PutObject(annotation, 0, Value{Kind: Dict, Entries: []Entry{{"NM", Value{Kind: String, Text: []byte("a name")}}}})
	for i := range min(len(tree.Pages), 20) {
		p, fresh, err := u.BeginPage(i)
		if err != nil {
			return nil, nil, err
		}
		if !fresh {
			continue
		}
		if _, err := p.AddFonts("F", font); err != nil {
			return nil, nil, err
		}
		if err := p.AddContent([]byte("q Q\n")); err != nil {
			return nil, nil, err
		}
		if err := p.AddAnnotation(annotation); err != nil {
			return nil, nil, err
		}
		p.Write()
	}
	if err := u.Finish(); err != nil {
		return nil, nil, err
	}
	return append(bytes.Clone(pdf), u.TakeOutput()...), tree, nil
}

func TestUpdateIsReadBack(t *testing.T) {
	t.Parallel()
	scan := pdftest.ScannedFile(pdftest.ScanOptions{Pages: 2, DPI: 50})
	for _, file := range []pdftest.File{
		pdftest.BornDigital(3), scan, pdftest.EncryptedFile(pdftest.RC4), pdftest.EncryptedFile(pdftest.AES),
		pdftest.WithBadStartxref(scan),
		pdftest.WithoutXref(scan), pdftest.WithJunkBefore(scan), pdftest.ManyPages(50), pdftest.MixedFile(),
	} {
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			out, before, err := extendDocument(file.PDF, file.Password)
			if err != nil {
				t.Fatal(err)
			}
			f, err := Open(bytes.NewReader(out), int64(len(out)), file.Password)
			if err != nil {
				t.Fatal(err)
			}
			after, err := f.ReadPageTree(1000)
			if err != nil || len(after.Pages) != len(before.Pages) || f.rebuilt {
				t.Fatalf("got %d pages, want %d, found by searching: %t, error %v", len(after.Pages), len(before.Pages), f.rebuilt,
					err)
			}
			o, err := f.FetchObject(int64(after.Pages[0].Number))
			if err != nil {
				t.Fatal(err)
			}
			content, err := f.FetchObject(o.Lookup("Contents").List[0].Num)
			if err != nil {
				t.Fatal(err)
			}
			if data, err := f.ReadStream(content, 1000); err != nil || string(data) != "q Q\n" {
				t.Errorf("content: got %q, error %v", data, err)
			}
			annots := o.Lookup("Annots").List
			a, err := f.FetchObject(annots[len(annots)-1].Num)
			if err != nil || string(a.Lookup("NM").Text) != "a name" {
				t.Errorf("annotation: got %s, error %v", a.AppendTo(nil), err)
			}
		})
	}
}

// Pages that share their resources, in any way, are each given every font, under a name that no other font has.
func TestFontsOfSharedResources(t *testing.T) {
	t.Parallel()
	const head = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj "
	for _, tt := range []struct{ name, pdf string }{
		{"of the node above", head + "2 0 obj<</Kids[3 0 R 4 0 R]/Count 2/Resources<</Font<</F 9 0 R>>>>>>endobj " +
			"3 0 obj<</Type/Page/Parent 2 0 R>>endobj 4 0 obj<</Type/Page/Parent 2 0 R>>endobj 9 0 obj<</Type/Font>>endobj trailer<</Root 1 0 R>>"},
		{"an object",
			head + "2 0 obj<</Kids[3 0 R 4 0 R]/Count 2>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/Resources 5 0 R>>endobj " +
				"4 0 obj<</Type/Page/Parent 2 0 R/Resources 5 0 R>>endobj 5 0 obj<</Font<</F 9 0 R>>>>endobj 9 0 obj<</Type/Font>>endobj trailer<</Root 1 0 R>>"},
		{"fonts that are an object",
			head +
				"2 0 obj<</Kids[3 0 R 4 0 R]/Count 2>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/Resources<</Font 5 0 R>>>>endobj " +
				"4 0 obj<</Type/Page/Parent 2 0 R/Resources<</Font 5 0 R>>>>endobj 5 0 obj<</F 9 0 R>>endobj 9 0 obj<</Type/Font>>endobj trailer<</Root 1 0 R>>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, err := Open(strings.NewReader(tt.pdf), int64(len(tt.pdf)), "")
			if err != nil {
				t.Fatal(err)
			}
			tree, err := f.ReadPageTree(10)
			if err != nil {
				t.Fatal(err)
			}
			u := f.BeginUpdate(tree)
			fonts := []int{u.NewObject(), u.NewObject()}
			for _, n := range fonts {
				u.PutObject(n, 0, Value{Kind: Dict, Entries: []Entry{{"Type", Value{Kind: Name, Raw: []byte("Font")}}}})
			}
			for i := range tree.Pages {
				p, _, err := u.BeginPage(i)
				if err != nil {
					t.Fatal(err)
				}
				if names, err := p.AddFonts("F", fonts...); err != nil || !slices.Equal(names, []string{"F2", "F3"}) {
					t.Errorf("page %d: got names %q, error %v; want F2 and F3", i+1, names, err)
				}
				p.Write()
			}
			if err := u.Finish(); err != nil {
				t.Fatal(err)
			}
			out := append([]byte(tt.pdf), u.TakeOutput()...)
			if f, err = Open(bytes.NewReader(out), int64(len(out)), ""); err != nil {
				t.Fatal(err)
			}
			if tree, err = f.ReadPageTree(10); err != nil || len(tree.Pages) != 2 {
				t.Fatalf("got %d pages, want 2, error %v", len(tree.Pages), err)
			}
			for i, page := range tree.Pages {
				o, err := f.FetchObject(int64(page.Number))
				if err != nil {
					t.Fatal(err)
				}
				resources, _ := tree.inheritedEntry(page, o.Value, "Resources")
				if resources, err = f.Resolve(resources); err != nil {
					t.Fatal(err)
				}
				all, err := f.ResolveEntry(resources, "Font")
				if err != nil || all.Lookup("F").Num != 9 || all.Lookup("F2").Num != int64(fonts[0]) ||
					all.Lookup("F3").Num != int64(fonts[1]) {
					t.Errorf("page %d: got fonts %s, error %v; want 9, %d and %d", i+1, all.AppendTo(nil), err, fonts[0], fonts[1])
				}
			}
		})
	}
}

func TestWrongPasswordIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []pdftest.Cipher{pdftest.RC4, pdftest.AES} {
		file := pdftest.EncryptedFile(c)
		if _, _, err := extendDocument(file.PDF, "wrong"); !errors.Is(err, ErrPassword) {
			t.Errorf("%s: got %v, want %v", c, err, ErrPassword)
		}
	}
}

// hostile are small documents that lead nowhere, or round in circles.
var hostile = map[string]string{
	"empty":             "",
	"prev to itself":    "%PDF-1.4\nxref\n0 0\ntrailer<</Prev 9/Size 1/Root 1 0 R>>\nstartxref\n9\n%%EOF",
	"huge table":        "%PDF-1.4\nxref\n0 99999999999\ntrailer<</Size 1>>\nstartxref\n9\n%%EOF",
	"pages in a circle": "%PDF-1.4\n1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Kids[2 0 R 2 0 R]>>endobj trailer<</Root 1 0 R>>",
	"pages of pages": "%PDF-1.4\n1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Kids[3 0 R 3 0 R 3 0 R]>>endobj 3 0 obj<</Kids[4 0 R 4 0 R]>>endobj " +
		"4 0 obj<</Kids[2 0 R]>>endobj trailer<</Root 1 0 R>>",
	"stream of itself":    "%PDF-1.5\n1 0 obj<</Type/ObjStm/N 5/First 9/Length 1 0 R>>stream\n1 0 2 0 3\nendstream endobj trailer<</Root 2 0 R>>",
	"reference to itself": "%PDF-1.4\n1 0 obj 1 0 R endobj trailer<</Root 1 0 R>>",
	"fonts in a circle": "%PDF-1.4\n1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Kids[3 0 R]>>endobj " +
		"3 0 obj<</Type/Page/Resources 3 0 R/Contents 3 0 R/Annots 3 0 R>>endobj trailer<</Root 1 0 R>>",
	"no page": "%PDF-1.4\n1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Kids[]>>endobj trailer<</Root 1 0 R>>",
}

func TestHostileStructureEnds(t *testing.T) {
	t.Parallel()
	for name, pdf := range hostile {
		if out, tree, err := extendDocument([]byte(pdf), ""); err == nil && len(tree.Pages) == 0 {
			t.Errorf("%s: got %d bytes and no page", name, len(out))
		}
	}
}

func FuzzUpdate(f *testing.F) {
	for _, pdf := range hostile {
		f.Add([]byte(pdf))
	}
	for _, file := range []pdftest.File{
		pdftest.BornDigital(1), pdftest.BlankPages(2), pdftest.OwnerOnlyFile(pdftest.AES),
		pdftest.WithoutXref(pdftest.BlankPages(1)),
	} {
		f.Add(file.PDF)
	}
	f.Fuzz(func(t *testing.T, pdf []byte) {
		out, _, err := extendDocument(pdf, "")
		if err == nil && !bytes.HasPrefix(out, pdf) {
			t.Error("the original does not come first")
		}
	})
}

func TestParseDict(t *testing.T) {
	t.Parallel()
	got := ParseDict([]byte(`<< /V 4 % comment (
		/P -1084 /O (a\(b\)\\\n\101\7z(in)\
c) /U <4a4B4> /CF << /Std#43F << /CFM /AESV2 >> >> /EncryptMetadata false ) stray 1 /X 12 0 R /ID [<41> (B)] >> /Not 1`))
	for _, tt := range []struct{ key, got, want string }{
		{"V", strconv.FormatInt(got.Lookup("V").Num, 10), "4"},
		{"P", strconv.FormatInt(got.Lookup("P").Num, 10), "-1084"},
		{"O", string(got.Lookup("O").Text), "a(b)\\\nA\az(in)c"},
		{"U", string(got.Lookup("U").Text), "JK@"},
		{"CF", got.Lookup("CF").Lookup("StdCF").Lookup("CFM").decodedName(), "AESV2"},
		{"EncryptMetadata", string(got.Lookup("EncryptMetadata").Raw), "false"},
		{"X", strconv.FormatInt(got.Lookup("X").Num, 10), "12"},
		{"ID", string(FirstFileID(got)), "A"},
		{"Not", string(got.Lookup("Not").Raw), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %q, want %q", tt.key, tt.got, tt.want)
		}
	}
	for _, damaged := range []string{"", "<", "<<", "<< /A", "<< /A (", "<< /A (\\", "<< /A <4", "<< /A [",
		"[[[[[[[[[[[[", "<< /A + >>", "<< /A << /B << /C"} {
		ParseDict([]byte(damaged)) // must come to an end
	}
	if got := ParseDict([]byte("<< /V 2 /O (o) /CF << /A 1 /B 2")); got.Lookup("V").Num != 2 ||
		got.Lookup("CF").Lookup("A").Num != 1 {
		t.Errorf("cut short: got %+v, want what there is", got)
	}
}
