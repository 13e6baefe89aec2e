package tesseract

import (
	"context"
	"fmt"
	"image"
	"image/draw"
	_ "image/png"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/sandbox"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestColumnsAreReadFromTopToBottom reads Japanese that runs in columns, which Tesseract takes for lines.
func TestColumnsAreReadFromTopToBottom(t *testing.T) {
	t.Parallel()
	models := &handleCache{datapath: DefaultDataPath(), first: "jpn"}
	if !hasModel(models.datapath, "jpn") || columnModel(models.datapath, "jpn") == "" {
		t.Skip("the models jpn and jpn_vert are not installed (pkg/tools/deps.sh test installs them)")
	}
	f, err := os.Open("testdata/columns.png")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	drawn, _, err := image.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	grey := image.NewGray(drawn.Bounds())
	draw.Draw(grey, grey.Rect, drawn, image.Point{}, draw.Src)
	img := greyOf(grey)
	handler := pageHandler{handles: models}
	// Named, and found out: in English the page reads so badly that its script is looked for.
	for _, req := range []request{{Languages: "jpn"}, {Languages: "eng", MayBeOther: true}} {
		req.DPI, req.Deskew, req.Rotate = 150, true, true
		got, err := handler.readPage(req, img)
		if err != nil {
			t.Fatal(err)
		}
		checkColumns(t, got.toPage(img, 150))
	}
}

func checkColumns(t *testing.T, page *inkstreamv1.Page) {
	t.Helper()
	var text strings.Builder
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			if l.GetAngle() != 90 {
				t.Errorf("a line at %d degrees, want 90", l.GetAngle())
			}
			for _, w := range l.GetWords() {
				text.WriteString(w.GetText())
			}
		}
	}
	for _, want := range []string{"明るい発見は隣人を越えて材料を含む", "近くに村を急に受け取った", "倉庫とともに窓を増やす"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("got %q, want %q in it", text.String(), want)
		}
	}
	if page.GetUprightRotation() != 0 || page.GetLanguage() != "jpn" {
		t.Errorf("turned by %d, language %q; want an upright page in Japanese", page.GetUprightRotation(), page.GetLanguage())
	}
}

// looksForModels is a child that says which models it finds in the folder that it is given.
func looksForModels() sandbox.Program {
	return sandbox.Program{Name: "looks for models", Setup: func(_ context.Context, args []string) (sandbox.Handler, error) {
		return sandbox.HandlerFunc(func(context.Context, sandbox.Request) ([]byte, error) {
			first, _ := (&handleCache{datapath: args[0]}).addLatinModel("rus")
			return fmt.Append(nil, first, " ", columnModel(args[0], "jpn")), nil
		}), nil
	}}
}

// TestModelsAreFoundWithinWalls looks for models in a child, which may not ask for the status of a file.
func TestModelsAreFoundWithinWalls(t *testing.T) {
	t.Parallel()
	dir := modelFolder(t, "rus.traineddata", "eng.traineddata", "jpn.traineddata", "jpn_vert.traineddata")
	pool, err := sandbox.NewPool(sandbox.Config{Program: looksForModels().Name, Args: []string{dir}, Size: 1,
		ReadOnly: []string{dir}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	child, err := pool.LeaseChild(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer child.Release()
	answer, err := child.Call(t.Context(), time.Minute, nil)
	if got, want := string(answer), "rus+eng jpn_vert"; got != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}
