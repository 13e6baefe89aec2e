// Package doctor looks at everything that a server stands on, and says what is wrong and what to do about it. It
// starts no server and takes no lock; what it writes are probes, which it deletes.
package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/service"
	"inkstream.dev/services/ocr"
)

// Status is what came out of a check.
type Status string

// The statuses. Only Fail makes the whole fail; Skip says that a check does not apply, and why.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
	Skip Status = "skip"
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Detail says what was found.
	Detail string `json:"detail"`
	// Fix says what to do, if there is something.
	Fix string `json:"fix,omitempty"`
}

// Report is what came out of all.
type Report struct {
	OK     bool    `json:"ok"`
	Checks []Check `json:"checks"`
}

// Config says what to look at.
type Config struct {
	// DataDir is the data folder of a standalone server; empty where there is none.
	DataDir string
	// NATS, Blobs and Index are URLs. Empty NATS means that of a running standalone server, the others what lies below
	// DataDir.
	NATS, Blobs, Index string
	// Credentials say who the doctor is to the NATS servers: the administrator, where each service has a user of its own.
	Credentials bus.Credentials
	// Monitor is the URL of the NATS server's monitoring port, where it has one.
	Monitor string
	// HTTP is the address of a running server's REST API.
	HTTP string
	// Timeout bounds each check.
	Timeout time.Duration

	PDF pdf.Config
	OCR ocr.EngineConfig
	// Languages are what a page is recognised in by default.
	Languages string
}

// DefaultConfig is that of a standalone server with its defaults.
func DefaultConfig() Config {
	return Config{
		DataDir: "inkstream-data", HTTP: "127.0.0.1:8080", Timeout: 20 * time.Second,
		PDF: pdf.DefaultConfig(), OCR: ocr.DefaultEngineConfig(), Languages: ocr.DefaultConfig().Languages,
	}
}

// checker is a run of the doctor.
type checker struct {
	cfg    Config
	log    *slog.Logger
	report Report
	// running tells whether a standalone server holds the data folder.
	running bool
	// info is what a running server says of itself.
	info map[string]string
}

// Run looks at everything. It returns when all is looked at, or ctx is done. The process must have called
// sandbox.Main with the engines' programs.
func Run(ctx context.Context, cfg Config, log *slog.Logger) Report {
	e := &checker{cfg: cfg, log: log, report: Report{OK: true}}
	for _, check := range []func(context.Context){
		e.checkServer, e.checkNATS, e.checkBlobs, e.checkIndex, e.checkPDFium, e.checkOCR, e.checkIsolation,
		e.checkDisk, e.checkClock,
	} {
		bounded, cancel := context.WithTimeout(ctx, cfg.Timeout)
		check(bounded)
		cancel()
	}
	return e.report
}

func (e *checker) addCheck(c Check) {
	if c.Status == Fail {
		e.report.OK = false
	}
	e.report.Checks = append(e.report.Checks, c)
}

func (e *checker) addOK(name, detail string, args ...any) {
	e.addCheck(Check{Name: name, Status: OK, Detail: fmt.Sprintf(detail, args...)})
}

func (e *checker) addSkipped(name, detail string, args ...any) {
	e.addCheck(Check{Name: name, Status: Skip, Detail: fmt.Sprintf(detail, args...)})
}

func (e *checker) addWarning(name, fix, detail string, args ...any) {
	e.addCheck(Check{Name: name, Status: Warn, Detail: fmt.Sprintf(detail, args...), Fix: fix})
}

func (e *checker) addFailure(name, fix, detail string, args ...any) {
	e.addCheck(Check{Name: name, Status: Fail, Detail: fmt.Sprintf(detail, args...), Fix: fix})
}

// checkServer finds out whether a standalone server is at work on the data folder, and asks it how it is.
func (e *checker) checkServer(ctx context.Context) {
	const name = "server"
	external := e.cfg.NATS != "" && e.cfg.Blobs != "" && e.cfg.Index != ""
	if external {
		e.cfg.DataDir = ""
	} else if dir, err := filepath.Abs(e.cfg.DataDir); err == nil {
		e.cfg.DataDir = dir
	}
	if e.cfg.DataDir != "" {
		running, err := isFolderLocked(e.cfg.DataDir)
		switch {
		case os.IsNotExist(err):
			e.addSkipped(name,
				"there is no data folder at %s yet; 'inkstream serve' makes one, or name another with --data-dir", e.cfg.DataDir)
			return
		case err != nil:
			e.addFailure(name, "run the doctor as the user that the server runs as, or repair the folder's permissions",
				"the data folder cannot be read: %v", err)
			return
		case !running:
			e.addSkipped(name, "no server is at work on %s; what does not need one is looked at", e.cfg.DataDir)
			return
		}
		e.running = true
	}
	ready, err := fetchReadiness(ctx, e.cfg.HTTP)
	switch {
	case err != nil && external:
		e.addSkipped(name, "no REST API at %s; its address is --http", e.cfg.HTTP)
	case err != nil:
		e.addWarning(name, "name its REST address with --http", "a server is at work on %s, but does not answer at %s",
			e.cfg.DataDir, e.cfg.HTTP)
	case !ready.Ready:
		e.addFailure(name, "see the checks below for what it waits for, and its log", "it runs, but is not ready: %s",
			ready.describeProblems())
	default:
		e.info = ready.Info
		e.addOK(name, "it runs and is ready%s", describeInfo(ready.Info))
		for _, dependency := range slices.Sorted(maps.Keys(ready.Checks)) {
			if c := ready.Checks[dependency]; c.Optional && !c.Up {
				e.addWarning(dependency, "see the server's log", "%s", c.Error)
			}
		}
	}
}

// isFolderLocked reports whether a process holds the lock of a data folder. It takes a lock itself only for the
// moment of the question, and a shared one, which does not hinder other processes that ask.
func isFolderLocked(dir string) (bool, error) {
	if _, err := os.Stat(dir); err != nil {
		return false, err
	}
	f, err := os.Open(filepath.Join(dir, "lock"))
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() // which drops the lock, if there was one to have
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil, nil
}

// checkIsolation asks a running server which walls its engines' children have found around themselves; where none
// runs, it looks at what the kernel gives.
func (e *checker) checkIsolation(context.Context) {
	var reported []string
	lacking := false
	for _, name := range slices.Sorted(maps.Keys(e.info)) {
		if engine, ok := strings.CutPrefix(name, service.WallsInfo); ok {
			reported = append(reported, engine+": "+e.info[name])
			lacking = lacking || strings.HasPrefix(e.info[name], "missing")
		}
	}
	const fix = "run a kernel of at least 5.13 with Landlock switched on, and a container runtime that allows seccomp filters"
	switch {
	case lacking:
		e.addWarning("walls", fix, "the server's engines say: %s", strings.Join(reported, "; "))
		return
	case len(reported) > 0:
		e.addOK("walls", "the server's engines say: %s", strings.Join(reported, "; "))
		return
	}
	if e.info != nil {
		e.addSkipped("walls", "no engine of the server has started a child yet")
		return
	}
	report := sandbox.Isolation()
	switch {
	case report.Landlock == 0:
		e.addWarning("walls", "run a kernel of at least 5.13 with Landlock switched on (lsm=…,landlock on its command line)",
			"missing: %s", report.Warning())
	case !report.Seccomp:
		e.addWarning("walls", "run a kernel, or a container runtime, that allows seccomp filters", "missing: %s",
			report.Warning())
	default:
		e.addOK("walls", "Landlock ABI %d and seccomp keep the engines in", report.Landlock)
	}
}
