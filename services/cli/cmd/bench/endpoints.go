package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	"inkstream.dev/services/ocr/visiontest"
)

const (
	// endpointDocument is how many pages a document has that is read through bad endpoints.
	endpointDocument = 50
	// limitedRate is how many pages the endpoint that limits answers in a second.
	limitedRate = 10
	// maxWrongLetters is the character error rate up to which a page has its own text. Two pages share hardly a word.
	maxWrongLetters = 0.1
)

// measureEndpoints takes pages, each with a text of its own, through three endpoints of which one dies after a tenth of
// the pages, one loops and one limits. It fails where a page is lost, doubled, or has another one's text.
func measureEndpoints(ctx context.Context, b *benchmark) (rows []row, err error) {
	m := &scanReader{}
	documents := m.drawDocuments(b.endpointPages)
	servers := []*httptest.Server{
		newDyingServer(m.answer, int64(max(1, b.endpointPages/10))),
		httptest.NewServer(visiontest.Handler(answerLoop)),
		httptest.NewServer(limitRate(visiontest.Handler(m.answer))),
	}
	var urls []string
	for _, server := range servers {
		defer server.Close()
		urls = append(urls, server.URL)
	}
	s, err := b.startServer(ctx, "endpoints", "--ocr.engine", "vision", "--vision.endpoints", strings.Join(urls, ","),
		"--vision.model", "bench", "--vision.allow-private")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	start := time.Now()
	var models atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(2 * runtime.NumCPU())
	for d, document := range documents {
		g.Go(func() error {
			j, err := s.uploadDocument(gctx, bytes.NewReader(document), len(document), "&engine=vision")
			if err != nil {
				return err
			}
			if j, err = s.awaitEnd(gctx, j.ID); err != nil {
				return err
			}
			first := d * endpointDocument
			n, err := s.checkReadPages(gctx, j, m.texts[first:min(first+endpointDocument, len(m.texts))])
			models.Add(int64(n))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return []row{{
		"vision, pages through three endpoints of which one dies, one loops and one limits", fmt.Sprintf("%d of %d once, with their own text",
			len(m.texts), len(m.texts)), "all",
		fmt.Sprintf("%d documents in %.0f s; %d pages are a model's, the others the witness's with a note", len(documents),
			time.Since(start).Seconds(), models.Load()),
	}}, nil
}

// checkReadPages fails unless each page of a job is there once with its own text, and returns how many are a model's.
func (s *server) checkReadPages(ctx context.Context, j jobView, texts []string) (models int, err error) {
	if j.State != "SUCCEEDED" || j.PageCount != len(texts) {
		return 0, fmt.Errorf("a job of %d pages ended as %s with %d", len(texts), j.State, j.PageCount)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.http+"/v1/jobs/"+j.ID+"/artifacts/text.txt", nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	whole, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	pages := strings.Split(strings.TrimSuffix(string(whole), "\f"), "\f")
	if len(pages) != len(texts) {
		return 0, fmt.Errorf("text.txt of a document of %d pages has %d", len(texts), len(pages))
	}
	for i, text := range texts {
		if rate := score.CharErrorRate(text, pages[i]); rate > maxWrongLetters {
			return 0, fmt.Errorf("page %d has a character error rate of %.2f against its own text: %.100q", i+1, rate, pages[i])
		}
		page, err := s.readPage(ctx, j.ID, i+1)
		if err != nil {
			return 0, err
		}
		if strings.HasPrefix(page.Engine, "vision") {
			models++
		}
	}
	return models, nil
}

// scanReader knows the texts of scans, and tells by a picture which one it shows.
type scanReader struct {
	texts []string
	signs []pictureSign
}

// drawDocuments draws scans of so many pages and returns them as documents.
func (m *scanReader) drawDocuments(pages int) (documents [][]byte) {
	var sheets []pdftest.ScannedSheet
	for n := range pages {
		picture, text := pdftest.DrawScanPage(pdftest.ScanOptions{Seed: uint64(n), DPI: 100, Size: 24}, 1)
		m.texts, m.signs = append(m.texts, text), append(m.signs, signPicture(picture))
		width, height := float64(picture.Rect.Dx())*72/100, float64(picture.Rect.Dy())*72/100
		sheets = append(sheets, pdftest.ScannedSheet{Image: picture, Width: width, Height: height, Bitonal: true})
		if len(sheets) == endpointDocument || n == pages-1 {
			documents, sheets = append(documents, pdftest.EncodeSheets(sheets)), nil
		}
	}
	return documents
}

// answer writes the text of the page that a picture shows.
func (m *scanReader) answer(picture []byte) string {
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return ""
	}
	sign, best, least := signPicture(img), 0, -1
	for i := range m.signs {
		if d := sign.distance(&m.signs[i]); least < 0 || d < least {
			best, least = i, d
		}
	}
	return visiontest.WriteBlock(m.texts[best])
}

// pictureSign is a picture in few pixels, by which it is known again at any resolution.
type pictureSign [96][64]uint8

func signPicture(img image.Image) (sign pictureSign) {
	r := img.Bounds()
	grey, isGrey := img.(*image.Gray)
	if !isGrey {
		return sign
	}
	for y := range sign {
		for x := range sign[y] {
			x0, x1 := x*r.Dx()/len(sign[y]), (x+1)*r.Dx()/len(sign[y])
			sum, n := 0, 0
			for row := y * r.Dy() / len(sign); row < (y+1)*r.Dy()/len(sign); row++ {
				for _, v := range grey.Pix[row*grey.Stride:][x0:x1] {
					sum, n = sum+int(v), n+1
				}
			}
			sign[y][x] = uint8(sum / max(n, 1))
		}
	}
	return sign
}

func (s *pictureSign) distance(other *pictureSign) int {
	sum := 0
	for y := range s {
		for x := range s[y] {
			d := int(s[y][x]) - int(other[y][x])
			sum += max(d, -d)
		}
	}
	return sum
}

// newDyingServer returns a server that answers so many pages, and then closes its connections and takes no others.
func newDyingServer(answer func([]byte) string, after int64) *httptest.Server {
	var answered atomic.Int64
	var server *httptest.Server
	var die sync.Once
	sound := visiontest.Handler(func(picture []byte) string {
		answered.Add(1)
		return answer(picture)
	})
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answered.Load() >= after {
			die.Do(func() { _ = server.Listener.Close() }) // what fails then is wanted
			panic(http.ErrAbortHandler)
		}
		sound.ServeHTTP(w, r)
	}))
	server.Start()
	return server
}

// answerLoop writes what a model does that repeats itself.
func answerLoop([]byte) string {
	return visiontest.WriteBlock(strings.Repeat("and the other side ", 400))
}

// limitRate refuses what comes in one second beyond limitedRate requests, as servers do that are asked for too much.
func limitRate(sound http.Handler) http.Handler {
	var mu sync.Mutex // guards all below
	var second time.Time
	served := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if now := time.Now().Truncate(time.Second); now != second {
			second, served = now, 0
		}
		served++
		isOver := served > limitedRate
		mu.Unlock()
		if isOver {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		sound.ServeHTTP(w, r)
	})
}
