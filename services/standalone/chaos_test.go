package standalone_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"inkstream.dev/services/standalone/chaos"
)

// A short form of what make chaos runs for minutes. INKSTREAM_CHAOS_SEED repeats a run's choices.
func TestChaos(t *testing.T) {
	seed := rand.Uint64N(1_000_000) + 1
	if s := os.Getenv("INKSTREAM_CHAOS_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("INKSTREAM_CHAOS_SEED: %v", err)
		}
	}
	cfg := chaos.Config{
		Duration: 10 * time.Second, Seed: seed, Jobs: 30, Small: true, Dir: t.TempDir(), Bin: buildServices(t),
		Log: testLog{t},
	}
	report, err := chaos.Run(t.Context(), cfg)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	var table bytes.Buffer
	report.PrintTo(&table)
	t.Logf("\n%s", &table)
	if len(report.Violations) > 0 {
		t.Errorf("seed %d: %d violations, want none", seed, len(report.Violations))
	}
}
