package enginetest

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/sandbox"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr"
)

// Misbehaviour is what a hostile child does with every page.
type Misbehaviour string

// The ways to misbehave. Each is the name of a program in Programs.
const (
	Crashes             Misbehaviour = "ocr-test-crashes"     // dies of a signal
	Exits               Misbehaviour = "ocr-test-exits"       // ends as if all was well
	Hangs               Misbehaviour = "ocr-test-hangs"       // works without end
	ExhaustsMemory      Misbehaviour = "ocr-test-floods"      // takes all memory there is
	AnswersNonsense     Misbehaviour = "ocr-test-lies"        // answers NonsensePage
	AnswersGarbage      Misbehaviour = "ocr-test-babbles"     // answers bytes that are no answer
	AnswersTooManyWords Misbehaviour = "ocr-test-overflows"   // answers more words than a page can hold
	AnswersMillionWords Misbehaviour = "ocr-test-drowns"      // answers a million words, which cost the reader's memory
	AnswersNothing      Misbehaviour = "ocr-test-silent"      // answers no bytes
	AnswersForeignFault Misbehaviour = "ocr-test-blames"      // answers with a fault that is not an engine's to declare
	AnswersBadText      Misbehaviour = "ocr-test-bad-text"    // answers a page with bad UTF-8 in it
	NeverStarts         Misbehaviour = "ocr-test-never-ready" // fails to set itself up
)

// Programs returns the hostile children, for sandbox.Main in a test's TestMain.
func Programs() []sandbox.Program {
	out := []sandbox.Program{{Name: string(NeverStarts), Setup: func(context.Context, []string) (sandbox.Handler, error) {
		return nil, os.ErrPermission
	}}}
	for name, answer := range map[Misbehaviour]func() []byte{
		Crashes:             killProcess,
		Exits:               func() []byte { os.Exit(0); return nil },
		Hangs:               loopForever,
		ExhaustsMemory:      exhaustMemory,
		AnswersNonsense:     func() []byte { return encodeAnswer(NonsensePage()) },
		AnswersGarbage:      func() []byte { return bytes.Repeat([]byte("P\xff\x00babble"), 1000) },
		AnswersTooManyWords: func() []byte { return encodeAnswer(WordFloodPage(150_000)) },
		AnswersMillionWords: func() []byte { return repeatBlocks(encodeAnswer(WordFloodPage(10_000)), 100) },
		AnswersNothing:      func() []byte { return nil },
		AnswersForeignFault: func() []byte { return []byte("FMALWARE_FOUND\nthe document's text") },
		AnswersBadText:      func() []byte { return badTextAnswer() },
	} {
		out = append(out, sandbox.Program{Name: string(name),
			Setup: func(context.Context, []string) (sandbox.Handler, error) {
				return sandbox.HandlerFunc(func(context.Context, sandbox.Request) ([]byte, error) { return answer(), nil }), nil
			}})
	}
	return out
}

// HostileEngine returns the Tesseract engine with children that misbehave in place of its own, so that its
// supervision can be watched. It is closed with the test.
func HostileEngine(t testing.TB, how Misbehaviour) *ocr.ProcessEngine {
	t.Helper()
	cfg := ocr.DefaultEngineConfig()
	cfg.Program, cfg.Workers, cfg.MemoryLimit = string(how), 1, 512<<20
	engine, err := ocr.NewEngine(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("open engine: %v", err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Errorf("close engine: %v", err)
		}
	})
	return engine
}

// WantCode is how a page of a misbehaving child must end: with one of these codes, or, where it is empty, with a sane
// page.
func (m Misbehaviour) WantCode() fault.Code {
	switch m {
	case Crashes, Exits, AnswersGarbage, AnswersMillionWords, AnswersNothing, AnswersBadText:
		return fault.EngineCrashed
	case Hangs:
		return fault.PageTimeout
	case ExhaustsMemory:
		return fault.EngineMemory
	case AnswersForeignFault:
		return fault.Internal
	case NeverStarts:
		return fault.Unavailable
	default:
		return ""
	}
}

// killProcess ends the process by a signal that the Go runtime leaves alone: SIGSEGV it would report as a panic of
// its own.
func killProcess() []byte {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // of one's own process: it cannot fail
	select {}
}

func loopForever() []byte {
	for { //nolint:staticcheck // it is meant to burn its core
	}
}

func exhaustMemory() []byte {
	held := make([][]byte, 0, 1<<10)
	for len(held) < cap(held) {
		held = append(held, bytes.Repeat([]byte{1}, 16<<20)) // written, because only then it is resident
	}
	return held[0]
}

// encodeAnswer is a child's answer with a page, less what the marshaller would refuse.
func encodeAnswer(page *inkstreamv1.Page) []byte {
	page.Text, page.Notes = "", nil
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				if w != nil {
					w.Text = string(bytes.ToValidUTF8([]byte(w.Text), []byte("?")))
				}
			}
		}
	}
	out, err := proto.Marshal(page)
	if err != nil {
		panic(err) // what makes it fail was taken out
	}
	return append([]byte{'P'}, out...)
}

// repeatBlocks is an answer whose page has all blocks that many times: encoded messages that follow one another are
// one, with all that repeats in it.
func repeatBlocks(answer []byte, times int) []byte {
	return append(answer[:1:1], bytes.Repeat(answer[1:], times)...)
}

// badTextAnswer is a page whose text is not UTF-8, written by hand because the marshaller would not.
func badTextAnswer() []byte {
	const textField = 8<<3 | 2
	return []byte{'P', textField, 2, 0xff, 0xfe}
}
