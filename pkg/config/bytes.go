package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a flag value for a size: "500MB", "1GiB", "1.5 GB" or a bare number of bytes.
type Bytes int64

// The units of a size: decimal ones as disks count, binary ones as memory counts.
const (
	KB Bytes = 1e3
	MB Bytes = 1e6
	GB Bytes = 1e9
	TB Bytes = 1e12

	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// byteUnits lists the units from the largest down, the order in which String tries them.
var byteUnits = []struct {
	name string
	size Bytes
}{
	{"TiB", TiB}, {"TB", TB}, {"GiB", GiB}, {"GB", GB}, {"MiB", MiB}, {"MB", MB}, {"KiB", KiB}, {"KB", KB}, {"B", 1},
}

// ParseBytes reads a size. Upper and lower case are the same, and a fraction needs a unit and is rounded down to
// whole bytes.
func ParseBytes(text string) (Bytes, error) {
	number, unit := strings.TrimSpace(text), Bytes(1)
	named := false
	for _, u := range byteUnits {
		if n := len(number) - len(u.name); n >= 0 && strings.EqualFold(number[n:], u.name) {
			number, unit, named = strings.TrimSpace(number[:n]), u.size, true
			break
		}
	}
	if whole, err := strconv.ParseInt(number, 10, 64); err == nil {
		if whole < 0 || whole > math.MaxInt64/int64(unit) {
			return 0, fmt.Errorf("size %q is out of range", text)
		}
		return Bytes(whole) * unit, nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || !named {
		return 0, fmt.Errorf("size %q: want a number of bytes, or one with a unit such as 500MB or 1GiB", text)
	}
	if size := f * float64(unit); size >= 0 && size < math.MaxInt64 {
		return Bytes(size), nil
	}
	return 0, fmt.Errorf("size %q is out of range", text)
}

// Set makes Bytes a flag.Value.
func (b *Bytes) Set(text string) error {
	size, err := ParseBytes(text)
	if err != nil {
		return err
	}
	*b = size
	return nil
}

// String returns the size in the largest unit that expresses it exactly.
func (b Bytes) String() string {
	if b == 0 {
		return "0"
	}
	for _, u := range byteUnits {
		if b%u.size == 0 {
			return strconv.FormatInt(int64(b/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
