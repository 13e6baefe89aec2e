package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// keptWay is a way to keep results.
type keptWay struct{ name, target, compress, options string }

var keptWays = []keptWay{
	{"as they come (the peer)", "", "off", ""},
	{"compressed", "≤ 15 KB", "on", ""},
	{"compressed, words without boxes", "", "on", "&lean_json=true"},
}

// measureKept measures what a page of a long born-digital document leaves on the disk beside the document itself, the
// index database and the broker's streams included, and what compression costs: servers that compress and one that does
// not read the same document in turns.
func measureKept(ctx context.Context, b *benchmark) (rows []row, err error) {
	data, what, err := b.longDocument()
	if err != nil {
		return nil, err
	}
	perPage := make([]float64, len(keptWays))
	cpu := make([][]float64, len(keptWays))
	servers := make([]*server, len(keptWays))
	for i, way := range keptWays {
		blobs := "file://" + filepath.Join(b.dir, keptFolder(i), "blobs") + "?compress=" + way.compress
		if servers[i], err = b.startServer(ctx, keptFolder(i), "--blobs", blobs); err != nil {
			return nil, errors.Join(err, stopServers(servers[:i]))
		}
	}
	var last jobView
	for round := range b.rounds + 1 {
		for i, way := range keptWays {
			took, _, err := servers[i].measureCost(func() (err error) { last, err = servers[i].runJob(ctx, data, way.options); return err })
			if err != nil {
				return nil, errors.Join(err, stopServers(servers))
			}
			if round > 0 { // the first starts every child
				cpu[i] = append(cpu[i], took.Seconds())
			}
		}
	}
	if err := stopServers(servers); err != nil {
		return nil, err
	}
	jobs := b.rounds + 1
	for i, way := range keptWays {
		kept, err := countKeptBytes(filepath.Join(b.dir, keptFolder(i)))
		if err != nil {
			return nil, err
		}
		perPage[i] = float64(kept-int64(jobs*len(data))) / float64(jobs*last.PageCount)
		rows = append(rows, row{"bytes kept a page, " + way.name, fmt.Sprintf("%.1f KB", perPage[i]/1000), way.target,
			fmt.Sprintf("%s, %d pages, beside the document; CPU %.2f × that of the peer", what, last.PageCount,
				medianRatio(cpu[i], cpu[0]))})
	}
	return rows, nil
}

func keptFolder(i int) string { return fmt.Sprintf("kept-%d", i) }

func stopServers(servers []*server) (err error) {
	for _, s := range servers {
		err = errors.Join(err, s.stopServer())
	}
	return err
}

// countKeptBytes returns how many bytes the files of a data folder have, those that can be made again left out. A file
// with two names counts once.
func countKeptBytes(dir string) (total int64, err error) {
	seen := map[uint64]bool{}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "cache":
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			if seen[stat.Ino] {
				return nil
			}
			seen[stat.Ino] = true
		}
		total += info.Size()
		return nil
	})
	return total, err
}

// medianRatio returns the median of what the runs of one took against those of another, turn by turn.
func medianRatio(of, against []float64) float64 {
	ratios := make([]float64, len(of))
	for i := range of {
		ratios[i] = of[i] / against[i]
	}
	return medianOf(ratios)
}
