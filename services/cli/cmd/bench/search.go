package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/search"
)

const (
	// searchPageWords is how many words a made page has. Books have 300 to 400; filling an index takes as long as it has
	// words.
	searchPageWords = 120
	// searchVocabulary is how many different words there are.
	searchVocabulary = 60_000
	// searchRounds is how often each query is asked.
	searchRounds = 12
	// searchFill bounds the filling of one index. What is in it by then is measured, and the row says how much that is.
	searchFill = 12 * time.Minute
	// searchBatch is how many pages are stored in one call.
	searchBatch = 500
	// searchJobPages is how many pages a job has.
	searchJobPages = 100
)

// proseGenerator makes pages of words whose frequencies fall off as those of a language do.
type proseGenerator struct {
	words  []string
	random *rand.Rand
	zipf   *rand.Zipf
}

func newProseGenerator() *proseGenerator {
	random := rand.New(rand.NewPCG(7, 11))
	p := &proseGenerator{random: random, zipf: rand.NewZipf(random, 1.07, 8, searchVocabulary-1)}
	syllables := []string{"ba", "con", "de", "ti", "on", "ra", "ing", "pre", "sta", "mo", "lu", "ex", "per", "al", "ment",
		"in"}
	for i := range searchVocabulary {
		var b strings.Builder
		for n := i + 3; n > 0; n /= len(syllables) {
			b.WriteString(syllables[n%len(syllables)])
		}
		p.words = append(p.words, b.String())
	}
	return p
}

func (p *proseGenerator) makePage() string {
	var b strings.Builder
	for i := range searchPageWords {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.words[p.zipf.Uint64()])
	}
	return b.String()
}

// makeQueries are what people ask: mostly a few words that some of the pages have.
func (p *proseGenerator) makeQueries() []string {
	w := p.words
	return []string{
		w[0], w[40], w[200], w[3_000], w[30_000], // one word, of nearly all pages down to a few
		w[100] + " " + w[400], w[60] + " " + w[5_000], w[300] + " " + w[700] + " " + w[20], // several
		`"` + w[0] + " " + w[1] + `"`, `"` + w[20] + " " + w[50] + `"`, // phrases
		w[500] + " -" + w[10], w[2_000][:5] + "*", w[800] + " " + w[4_000][:6] + "*",
	}
}

// measureSearch measures how long a search takes in both indexes.
func measureSearch(ctx context.Context, b *benchmark) ([]row, error) {
	sqlite, err := measureSearchStore(ctx, "SQLite", "sqlite://"+filepath.Join(b.dir, "search.db"), 100_000,
		30*time.Millisecond)
	if err != nil {
		return nil, err
	}
	url, stop, err := startClickHouse(ctx, b.dir)
	if err != nil {
		return append(sqlite, row{"search, ClickHouse", "not measured", "≤ 120 ms", err.Error()}), nil
	}
	defer stop()
	clickhouse, err := measureSearchStore(ctx, "ClickHouse", url, 1_000_000, 120*time.Millisecond)
	return append(sqlite, clickhouse...), err
}

func measureSearchStore(ctx context.Context, name, url string, pages int, target time.Duration) ([]row, error) {
	store, err := openStoreWhenUp(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer func() { _ = store.Close() }() // its folder goes
	p := newProseGenerator()
	start := time.Now()
	filled, id := 0, ""
	for filled < pages && time.Since(start) < searchFill {
		batch := make([]search.Page, min(searchBatch, pages-filled))
		for i := range batch {
			n := filled + i
			if n%searchJobPages == 0 {
				id = string(job.NewID()) // ClickHouse counts words in a part of the ids, among which these lie as those of jobs do
			}
			batch[i] = search.Page{Tenant: "bench", Job: id, Run: 1, Number: n%searchJobPages + 1, Language: "en",
				Text: p.makePage()}
		}
		if err := store.PutPages(ctx, batch); err != nil {
			return nil, fmt.Errorf("%s: fill: %w", name, err)
		}
		filled += len(batch)
	}
	fill := time.Since(start)
	var times []time.Duration
	var slowest string
	var worst time.Duration
	for round := range searchRounds {
		for _, text := range p.makeQueries() {
			start := time.Now()
			if _, err := store.Search(ctx, search.Query{Tenant: "bench", Text: text}); err != nil {
				return nil, fmt.Errorf("%s: search: %w", name, err)
			}
			took := time.Since(start)
			if round > 0 { // the first warms the caches up
				times = append(times, took)
				if took > worst {
					worst, slowest = took, text
				}
			}
		}
	}
	slices.Sort(times)
	at := func(q float64) time.Duration {
		return times[int(q*float64(len(times)-1))].Round(100 * time.Microsecond)
	}
	return []row{
		{
			"search, " + name + ", p95", at(0.95).String(), "≤ " + target.String(),
			fmt.Sprintf("%d pages of %d words, %d queries; p50 %s, slowest %s for %s", filled, searchPageWords, len(times),
				at(0.5),
				worst.Round(time.Millisecond), slowest),
		},
		{
			"search, " + name + ", pages stored a second", fmt.Sprintf("%.0f", float64(filled)/fill.Seconds()), "",
			fmt.Sprintf("%d at a time, in %s", searchBatch, fill.Round(time.Second)),
		},
	}, nil
}

// openStoreWhenUp opens a store once it answers.
func openStoreWhenUp(ctx context.Context, url string) (search.Store, error) {
	store, err := search.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := store.Ping(ctx)
		if err == nil {
			return store, nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return nil, errors.Join(err, store.Close())
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// startClickHouse starts the server of Debian's package over a folder of its own.
func startClickHouse(ctx context.Context, dir string) (url string, stop func(), err error) {
	program, err := exec.LookPath("clickhouse-server")
	if err != nil {
		if program = "/usr/sbin/clickhouse-server"; !isRegularFile(program) {
			return "", nil, fmt.Errorf("clickhouse-server is not installed: run make test-deps")
		}
	}
	port, err := processtest.FreePort()
	if err != nil {
		return "", nil, err
	}
	home := filepath.Join(dir, "clickhouse")
	for name, text := range map[string]string{
		"config.xml": fmt.Sprintf(`<yandex><logger><level>error</level><console>1</console></logger><listen_host>127.0.0.1</listen_host>
<tcp_port>%d</tcp_port><path>%[2]s/data/</path><tmp_path>%[2]s/tmp/</tmp_path><users_config>%[2]s/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>1073741824</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size></yandex>`, port, home),
		"users.xml": `<yandex><profiles><default></default></profiles><quotas><default></default></quotas>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>`,
	} {
		if err := os.MkdirAll(home, 0o700); err != nil {
			return "", nil, err
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			return "", nil, err
		}
	}
	cmd := exec.CommandContext(ctx, program, "--config-file="+filepath.Join(home, "config.xml"))
	cmd.Dir = home
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("clickhouse://default@127.0.0.1:%d/bench", port), func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}, nil
}

func isRegularFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
