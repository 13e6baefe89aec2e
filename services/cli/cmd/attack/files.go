package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"inkstream.dev/pkg/pdftest"
)

var fileAttacks = []attack{
	{"files", "damaged, looping, exploding and hanging documents", "each is refused or ends with a reason; the server lives", attackFiles},
	{"8", "the children that parse, as the kernel sees them", "seccomp, no new privileges, another root than the server's reach", attackWalls},
}

// hostileFiles returns documents that mean harm, by what they try.
func hostileFiles() map[string][]byte {
	all := map[string][]byte{}
	add := func(files ...pdftest.File) {
		for _, f := range files {
			all[f.Name+fmt.Sprint(" ", len(all))] = f.PDF
		}
	}
	add(pdftest.DamagedFiles()...)
	add(pdftest.NotPDFFiles()...)
	add(pdftest.AbsurdPageBoxes()...)
	add(pdftest.ContentBomb(512, false), pdftest.ContentBomb(256, true), pdftest.ImageBomb(20_000), pdftest.WithLoopingPages(),
		pdftest.WithHazards(pdftest.AllHazards()...), pdftest.HangingFile(pdftest.StallLoad), pdftest.HangingFile(pdftest.StallMemory),
		pdftest.HangingFile(pdftest.StallRender))
	sound := pdftest.BornDigital(1)
	for seed := range uint64(12) {
		add(pdftest.FlipBits(sound, seed, 40))
	}
	for share := range 6 {
		add(pdftest.TruncateFile(sound, float64(share+1)/8))
	}
	deep := strings.Repeat("[", 200_000)
	all["200,000 arrays in another"] = pdftest.PDFFromObjects("<< /Type /Catalog /Pages 2 0 R /X "+deep+" >>", "<< /Type /Pages /Count 0 /Kids [] >>")
	all["a billion pages"] = pdftest.PDFFromObjects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 1000000000 /Kids [2 0 R 2 0 R] >>")
	all["a page that is its own content"] = pdftest.PDFFromObjects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents [3 0 R 2 0 R 3 0 R] >>")
	all["an endless operand"] = documentOf("BT /F1 " + strings.Repeat("9", 500_000) + " Tf (x) Tj ET")
	all["a million saved states"] = documentOf(strings.Repeat("q ", 1_000_000))
	all["a million paths"] = documentOf(strings.Repeat("0 0 m 1 1 l S\n", 1_000_000))
	all["tiny tiles"] = tilingDocument(3)
	page := "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
	pages, content := "<< /Type /Pages /Count 1 /Kids [3 0 R] >>", streamOf("", "BT /F1 9 Tf 9 9 Td (aaa) Tj ET")
	font := "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
	all["a tree of names that is its own branch"] = pdftest.PDFFromObjects("<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles 6 0 R"+
		" /JavaScript 6 0 R /Dests 6 0 R >> >>", pages, page, content, font, "<< /Limits [(a) (z)] /Kids [6 0 R 6 0 R 6 0 R] >>")
	all["contents whose headings are their own heirs"] = pdftest.PDFFromObjects("<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>", pages, page,
		content, font, "<< /First 6 0 R /Last 6 0 R /Next 6 0 R /Prev 6 0 R /Title (a) /Count 2147483647 /Dest [3 0 R /Fit] >>")
	all["glyphs that draw themselves"] = pdftest.PDFFromObjects("<< /Type /Catalog /Pages 2 0 R >>", pages, page, content,
		"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1 1] /FontMatrix [1 0 0 1 0 0] /FirstChar 97 /LastChar 97 /Widths [1]"+
			" /Encoding << /Differences [97 /a] >> /CharProcs << /a 4 0 R >> /Resources << /Font << /F1 5 0 R >> >> >>")
	all["2^31 pages by their count"] = pdftest.PDFFromObjects("<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Count 2147483648 /Kids [3 0 R] >>", page, content, font)
	all["a web page, an archive and a document"] = append([]byte("<script>alert(1)</script>PK\x03\x04"), documentOf("BT /F1 9 Tf (x) Tj ET")...)
	all["actions that follow themselves"] = pdftest.PDFFromObjects("<< /Type /Catalog /Pages 2 0 R /OpenAction 6 0 R >>", pages, page, content, font,
		"<< /S /JavaScript /JS (x) /Next [6 0 R 6 0 R << /S /Launch /F (x) /Next 6 0 R >>] >>")
	return all
}

// attackFiles has the villain send all of them, a few at once.
func attackFiles(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	files := hostileFiles()
	states := map[string]int{}
	var mu sync.Mutex // guards states
	var problems []error
	gate := make(chan struct{}, 6)
	var wg sync.WaitGroup
	for name, data := range files {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			state, err := s.takeFile(ctx, data)
			mu.Lock()
			defer mu.Unlock()
			states[state]++
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(problems...); err != nil {
		return "", err
	}
	j, took, err := s.runJob(ctx, victim+"/write", "", s.document)
	if err != nil || j.State != "SUCCEEDED" {
		return "", fmt.Errorf("the victim's next job: %s, %w", j.State, err)
	}
	return fmt.Sprintf("%d files: %v; the victim's next job took %.1f s", len(files), states, took.Seconds()), nil
}

// takeFile sends a document and waits until it is refused or its job has ended.
func (s *server) takeFile(ctx context.Context, data []byte) (state string, err error) {
	j, code, err := s.submit(ctx, villain+"/write", "&page_timeout=2s&document_timeout=30s", data)
	switch {
	case err != nil:
		return "no answer", err
	case code >= 500:
		return strconv.Itoa(code), fmt.Errorf("upload: %d", code)
	case code != http.StatusAccepted:
		return strconv.Itoa(code), nil
	}
	ectx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	if j, err = s.awaitEnd(ectx, villain+"/write", j.ID); err != nil {
		return j.State, err
	}
	if (j.State == "FAILED" || j.State == "REJECTED") && j.Error.Code == "" {
		return j.State, errors.New("it ended without a reason")
	}
	return j.State, nil
}

// attackWalls looks at the server's children while they work on hostile documents.
func attackWalls(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	var looks, bare atomic.Int64
	names := map[string]bool{}
	done := make(chan error, 1)
	go func() {
		_, _, err := s.runJob(ctx, villain+"/write", "&page_timeout=3s&ocr=force", pdftest.BornDigital(2).PDF)
		done <- err
	}()
	for {
		children, err := childrenOf(s.cmd.Process.Pid)
		if err != nil {
			return "", err
		}
		for _, pid := range children {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if err != nil {
				continue // gone
			}
			name, walled := readWalls(string(status))
			looks.Add(1)
			if !walled {
				bare.Add(1)
			} else {
				names[name] = true
			}
		}
		select {
		case err := <-done:
			// A child is bare from its start until it has raised its walls, before it reads anything; so a few looks
			// may see one.
			if looks.Load() < 5 || bare.Load()*5 > looks.Load() {
				err = errors.Join(err, fmt.Errorf("%d of %d looks saw a child without walls", bare.Load(), looks.Load()))
			}
			return fmt.Sprintf("%d looks at %d kinds of children, %d before their walls", looks.Load(), len(names), bare.Load()), err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// readWalls returns a process's name, and whether a seccomp filter is around it and it can gain no privileges.
func readWalls(status string) (name string, walled bool) {
	values := map[string]string{}
	for line := range strings.SplitSeq(status, "\n") {
		if key, value, ok := strings.Cut(line, ":"); ok {
			values[key] = strings.TrimSpace(value)
		}
	}
	return values["Name"], values["Seccomp"] == "2" && values["NoNewPrivs"] == "1" && values["CapEff"] == "0000000000000000"
}

// childrenOf returns the processes that a process has started.
func childrenOf(pid int) (children []int, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // the thread is gone
		}
		for _, field := range strings.Fields(string(data)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				return nil, err
			}
			children = append(children, child)
		}
	}
	return children, err
}
