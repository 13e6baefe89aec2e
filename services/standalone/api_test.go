package standalone_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"image/png"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/pdftest"
)

// What the API makes of results works on those of the real engines.
func TestResultsOverTheAPI(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	doc := pdftest.BornDigital(2)
	v := p.run(t, doc)
	base := "/v1/jobs/" + v.GetId()
	var widths [2]int
	for i, query := range []string{"?dpi=50", "?dpi=50&boxes=true"} {
		code, body := p.get(t, base+"/pages/1/image"+query)
		img, err := png.Decode(bytes.NewReader(body))
		if code != http.StatusOK || err != nil {
			t.Fatalf("image%s: got %d, %v: %.200s", query, code, err, body)
		}
		widths[i] = img.Bounds().Dx()
	}
	if widths[0] != widths[1] || widths[0] < 300 {
		t.Errorf("images of %v pixels", widths)
	}
	code, body := p.get(t, base+"/artifacts.zip")
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if code != http.StatusOK || err != nil || len(archive.File) < 4 {
		t.Errorf("archive: got %d, %d bytes, %v", code, len(body), err)
	}
	code, body = p.get(t, "/result/"+v.GetId()+"/status")
	var task struct {
		Status string
		Total  int `json:"total_pages"`
		Done   int `json:"processed_pages"`
	}
	if err := json.Unmarshal(body, &task); err != nil || code != http.StatusOK || task.Status != "completed" ||
		task.Total != 2 || task.Done != 2 {
		t.Errorf("status: got %d %s, %v", code, body, err)
	}
	for _, path := range []string{"/result/" + v.GetId() + "/markdown", "/result/" + v.GetId() + "/markdown_det"} {
		if code, body := p.get(t, path); code != http.StatusOK || !bytes.Contains(body, []byte(doc.Pages[1].Marker)) {
			t.Errorf("%s: got %d %.200s, want the word %q", path, code, body, doc.Pages[1].Marker)
		}
	}
	code, body = p.get(t, "/v1/search?q="+doc.Pages[1].Marker)
	var found struct {
		Hits []struct {
			Job   string
			Page  int
			Boxes []any
		}
	}
	if err := json.Unmarshal(body, &found); err != nil || code != http.StatusOK || len(found.Hits) != 1 ||
		found.Hits[0].Page != 2 || len(found.Hits[0].Boxes) == 0 {
		t.Errorf("search: got %d %s, %v", code, body, err)
	}
}

// A word that a hyphen breaks at the end of a line is found as it is spelled, and both its parts are where it stands.
func TestSearchFindsBrokenWords(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	v := p.run(t,
		pdftest.WithoutFonts("BT /F 12 Tf 20 200 Td (all of the tape Bandlauf-) Tj 0 -14 Td (werke are here at last) Tj ET"))
	for query, want := range map[string][]string{"Bandlaufwerke": {"Bandlauf-", "werke"},
		"%22tape bandlaufwerke are%22": {"tape", "Bandlauf-", "werke", "are"}} {
		code, body := p.get(t, "/v1/search?job="+v.GetId()+"&q="+strings.ReplaceAll(query, " ", "%20"))
		var found struct {
			Hits []struct {
				Snippet    string
				CreateTime time.Time
				Boxes      []struct {
					Text string
					Bbox [4]float64
				}
			}
		}
		if err := json.Unmarshal(body, &found); err != nil || code != http.StatusOK || len(found.Hits) != 1 {
			t.Fatalf("search for %s: got %d %s, %v, want one hit", query, code, body, err)
		}
		hit := found.Hits[0]
		var got []string
		for _, box := range hit.Boxes {
			got = append(got, box.Text)
		}
		if !slices.Equal(got, want) || !strings.Contains(hit.Snippet, "Bandlaufwerke") {
			t.Errorf("search for %s: got boxes of %q in %q, want of %q", query, got, hit.Snippet, want)
		}
		if want := v.GetCreateTime().AsTime().Truncate(time.Microsecond); !hit.CreateTime.Equal(want) {
			t.Errorf("got a hit of %v, want %v", hit.CreateTime, want)
		}
	}
}
