package enginetest_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/ocr"
	"inkstream.dev/services/ocr/enginetest"
)

func TestMain(m *testing.M) {
	sandbox.Main(append(ocr.Programs(), enginetest.Programs()...)...)
	processtest.UsePlainChildren(sandbox.SetChildFile)
	os.Exit(m.Run())
}

func TestFakePassesTheSuite(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(t *testing.T) ocr.Engine { return enginetest.NewFakeEngine(t) })
}

func TestTesseractPassesTheSuite(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(t *testing.T) ocr.Engine {
		cfg := ocr.DefaultEngineConfig()
		cfg.Workers, cfg.Languages = 2, "eng"
		engine, err := ocr.NewEngine(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatalf("open engine: %v", err)
		}
		t.Cleanup(func() {
			if deaths := engine.Stats().Deaths; len(deaths) > 0 && !onlyCancelled(deaths) {
				t.Errorf("children died: %v", deaths)
			}
			if err := engine.Close(); err != nil {
				t.Errorf("close engine: %v", err)
			}
		})
		return engine
	})
}

func onlyCancelled(deaths map[sandbox.ExitReason]int) bool {
	for reason := range deaths {
		if reason != sandbox.Cancelled {
			return false
		}
	}
	return true
}

func TestMisbehavingChildren(t *testing.T) {
	t.Parallel()
	for _, how := range []enginetest.Misbehaviour{
		enginetest.Crashes, enginetest.Exits, enginetest.Hangs, enginetest.ExhaustsMemory, enginetest.AnswersNonsense,
		enginetest.AnswersGarbage,
		enginetest.AnswersTooManyWords, enginetest.AnswersMillionWords, enginetest.AnswersNothing,
		enginetest.AnswersForeignFault, enginetest.AnswersBadText, enginetest.NeverStarts,
	} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			engine := enginetest.HostileEngine(t, how)
			opts := ocr.RecogniseOptions{Languages: "eng", Timeout: 30 * time.Second, Deskew: true, Rotate: true}
			if how == enginetest.Hangs {
				opts.Timeout = 300 * time.Millisecond
			}
			for range 2 { // the second page meets a child in a dead one's place
				page, err := engine.RecognisePage(t.Context(), enginetest.NewBlankSample(100, 100, 300).OpenImage(t), opts)
				if want := how.WantCode(); want != "" {
					if fault.CodeOf(err) != want {
						t.Errorf("got page %v, error %v; want %s", page, err, want)
					}
					continue
				}
				if err != nil {
					t.Fatalf("RecognisePage: %v", err)
				}
				enginetest.CheckPage(t, page)
			}
		})
	}
}

func TestCancelledCallEndsAtOnce(t *testing.T) {
	t.Parallel()
	engine := enginetest.HostileEngine(t, enginetest.Hangs)
	if err := engine.StartChildren(t.Context(), 1); err != nil {
		t.Fatalf("Warm: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	img := enginetest.NewBlankSample(100, 100, 300).OpenImage(t)
	_, err := engine.RecognisePage(ctx, img, ocr.RecogniseOptions{Languages: "eng", Timeout: time.Hour, Deskew: true, Rotate: true})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestFakesInProcess(t *testing.T) {
	t.Parallel()
	blank := enginetest.NewBlankSample(100, 100, 300)
	opts := ocr.RecogniseOptions{Languages: "eng", Timeout: time.Millisecond, Deskew: true, Rotate: true}
	for _, tt := range []struct {
		name   string
		engine ocr.Engine
		want   []fault.Code // of one call after the other; empty for a page
	}{
		{"failing", enginetest.FailingEngine(fault.EngineMemory), []fault.Code{fault.EngineMemory, fault.EngineMemory}},
		{"hanging", enginetest.HangingEngine(), []fault.Code{fault.PageTimeout}},
		{"flaky", enginetest.FlakyEngine(1, fault.EngineCrashed, enginetest.NonsenseEngine()),
			[]fault.Code{fault.EngineCrashed, ""}},
		{"talkative", enginetest.NonsenseEngine(), []fault.Code{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, want := range tt.want {
				page, err := tt.engine.RecognisePage(t.Context(), blank.OpenImage(t), opts)
				if want == "" && err == nil {
					enginetest.CheckPage(t, page)
				} else if want == "" || fault.CodeOf(err) != want {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}
