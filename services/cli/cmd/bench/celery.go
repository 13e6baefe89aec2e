package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/processtest"
)

// celeryFiles are the peer that a Python team would build: FastAPI takes uploads, Celery with Redis as its broker does
// the work, pdfminer reads text, and a Tesseract that stays loaded recognises.
//
//go:embed celery/*.py
var celeryFiles embed.FS

// debianPython is the interpreter that Debian's packages are for.
const debianPython = "/usr/bin/python3"

// celeryPeer is the peer while it runs. It speaks as much of the API as the measurements use.
type celeryPeer struct {
	server
	processes []*processtest.Process
}

// startCelery starts the peer, with a worker process for each core. Redis keeps its queue in memory alone, which is the
// peer's quickest way; what Inkstream acknowledges is on the disk.
func (b *benchmark) startCelery(ctx context.Context) (_ *celeryPeer, err error) {
	dir := filepath.Join(b.dir, "celery")
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	for _, name := range []string{"app.py", "tasks.py"} {
		code, err := celeryFiles.ReadFile("celery/" + name)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), code, 0o600); err != nil {
			return nil, err
		}
	}
	ports := make([]string, 2)
	for i := range ports {
		port, err := processtest.FreePort()
		if err != nil {
			return nil, err
		}
		ports[i] = strconv.Itoa(port)
	}
	peer := &celeryPeer{server: server{http: "127.0.0.1:" + ports[1]}}
	defer func() {
		if err != nil {
			peer.stopProcesses()
		}
	}()
	env := append(os.Environ(), "PEER_DATA="+data, "PEER_REDIS=redis://127.0.0.1:"+ports[0]+"/0", "OMP_THREAD_LIMIT=1")
	for _, p := range []struct {
		args  []string
		ready func(context.Context) error
	}{
		{[]string{"redis-server", "--bind", "127.0.0.1", "--port", ports[0], "--save", "", "--appendonly", "no", "--dir", dir},
			func(ctx context.Context) error {
				return exec.CommandContext(ctx, "redis-cli", "-p", ports[0], "ping").Run()
			}},
		{[]string{debianPython, "-m", "celery", "-A", "tasks", "worker", "-P", "prefork", "-c", strconv.Itoa(runtime.NumCPU()),
			"--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "ERROR"},
			func(context.Context) error { return nil }},
		{[]string{debianPython, "-m", "uvicorn", "app:app", "--port", ports[1], "--log-level", "error"}, peer.answers},
	} {
		cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
		cmd.Dir, cmd.Env = dir, env
		started, err := processtest.StartProcess(ctx, cmd, p.ready)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.args[0], err)
		}
		peer.processes = append(peer.processes, started)
	}
	warm := filepath.Join(b.dir, "warm.pdf") // has every worker load what it needs
	if err := os.WriteFile(warm, pdftest.ScannedFile(pdftest.ScanOptions{Pages: 4 * runtime.NumCPU()}).PDF, 0o600); err != nil {
		return nil, err
	}
	return peer, peer.runDocuments(ctx, []string{warm})
}

// answers reports whether the peer's API is up.
func (p *celeryPeer) answers(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.http+"/openapi.json", nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// stopProcesses ends the peer's processes.
func (p *celeryPeer) stopProcesses() {
	for _, process := range p.processes {
		process.Stop()
	}
}

// measurePeerCost returns what f costs the peer: processor time of all processes, and wall time.
func (p *celeryPeer) measurePeerCost(f func() error) (u usage, err error) {
	before, err := p.sumCPUTime()
	if err != nil {
		return u, err
	}
	if u.wall, err = timeCall(f); err != nil {
		return u, err
	}
	after, err := p.sumCPUTime()
	u.cpu = after - before
	return u, err
}

func (p *celeryPeer) sumCPUTime() (sum time.Duration, err error) {
	for _, process := range p.processes {
		of, err := processtest.CPU(process.PID())
		if err != nil {
			return 0, err
		}
		sum += of
	}
	return sum, nil
}

// measureCelery compares the pipeline with the peer on the same documents in the same run: ten scanned pages as ten
// files and as one, a long born-digital document, and a hundred short ones.
func measureCelery(ctx context.Context, b *benchmark) (rows []row, err error) {
	pages, whole, err := b.scanTenPages(ctx)
	if err != nil {
		return nil, err
	}
	long, what, err := b.longDocument()
	if err != nil {
		return nil, err
	}
	longPath := filepath.Join(b.dir, "long.pdf")
	if err := os.WriteFile(longPath, long, 0o600); err != nil {
		return nil, err
	}
	var short []string
	for i := range 100 {
		path := filepath.Join(b.dir, fmt.Sprintf("short-%d.pdf", i))
		if err := os.WriteFile(path, pdftest.BornDigital(1+i%3).PDF, 0o600); err != nil {
			return nil, err
		}
		short = append(short, path)
	}
	peer, err := b.startCelery(ctx)
	if err != nil {
		return nil, err
	}
	defer peer.stopProcesses()
	s, err := b.startServer(ctx, "beside-celery")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	if err := s.warmChildren(ctx); err != nil {
		return nil, err
	}
	for _, load := range []struct {
		what  string
		files []string
	}{
		{"ten scanned pages, ten files", pages}, {"ten scanned pages, one file", []string{whole}},
		{what + ", born-digital", []string{longPath}}, {"100 documents of 1 to 3 pages", short},
	} {
		r, err := b.compareWithCelery(ctx, s, peer, load.what, load.files)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", load.what, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// compareWithCelery takes documents through both in turns.
func (b *benchmark) compareWithCelery(ctx context.Context, s *server, peer *celeryPeer, what string,
	files []string) (row, error) {
	var cpuRatios, wallRatios []float64
	var ours, theirs usage
	for range b.rounds {
		cpu, wall, err := s.measureCost(func() error { return s.runDocuments(ctx, files) })
		if err != nil {
			return row{}, err
		}
		u, err := peer.measurePeerCost(func() error { return peer.runDocuments(ctx, files) })
		if err != nil {
			return row{}, fmt.Errorf("the peer: %w", err)
		}
		ours, theirs = ours.plus(usage{cpu, wall}), theirs.plus(u)
		cpuRatios = append(cpuRatios, cpu.Seconds()/u.cpu.Seconds())
		wallRatios = append(wallRatios, wall.Seconds()/u.wall.Seconds())
	}
	mean := func(d time.Duration) float64 { return d.Seconds() / float64(b.rounds) }
	return row{
		"against FastAPI and Celery: " + what,
		fmt.Sprintf("CPU %.2f ×, wall %.2f ×", medianOf(cpuRatios), medianOf(wallRatios)), "≤ 1 ×",
		fmt.Sprintf("CPU %.2f s against %.2f, wall %.2f s against %.2f; all artifacts on disk against bare text", mean(ours.cpu),
			mean(theirs.cpu), mean(ours.wall), mean(theirs.wall)),
	}, nil
}

// scanTenPages makes scans of ten pages of the long document, grey: ten files, and one with all of them.
func (b *benchmark) scanTenPages(ctx context.Context) (pages []string, whole string, err error) {
	long, _, err := b.longDocument()
	if err != nil {
		return nil, "", err
	}
	source := filepath.Join(b.dir, "to-scan.pdf")
	if err := os.WriteFile(source, long, 0o600); err != nil {
		return nil, "", err
	}
	var sheets []pdftest.ScannedSheet
	for n := 20; n < 30; n++ {
		number := strconv.Itoa(n)
		const dpi = 300
		drawn, err := exec.CommandContext(ctx, "pdftoppm", "-r", strconv.Itoa(dpi), "-gray", "-png", "-f", number, "-l", number,
			source).Output()
		if err != nil {
			return nil, "", fmt.Errorf("pdftoppm: %w", err)
		}
		picture, err := png.Decode(bytes.NewReader(drawn))
		if err != nil {
			return nil, "", fmt.Errorf("pdftoppm: %w", err)
		}
		grey := image.NewGray(picture.Bounds())
		draw.Draw(grey, grey.Rect, picture, image.Point{}, draw.Src)
		sheet := pdftest.ScannedSheet{Image: grey, Width: float64(grey.Rect.Dx()) * 72 / dpi,
			Height: float64(grey.Rect.Dy()) * 72 / dpi, JPEG: 90}
		sheets = append(sheets, sheet)
		path := filepath.Join(b.dir, "scanned-"+number+".pdf")
		if err := os.WriteFile(path, pdftest.EncodeSheets([]pdftest.ScannedSheet{sheet}), 0o600); err != nil {
			return nil, "", err
		}
		pages = append(pages, path)
	}
	whole = filepath.Join(b.dir, "scanned-whole.pdf")
	return pages, whole, os.WriteFile(whole, pdftest.EncodeSheets(sheets), 0o600)
}
