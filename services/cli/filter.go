package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// filterFlags holds the flags that select jobs.
type filterFlags struct {
	states, labels         []string
	filename, since, until string
	batch                  string
}

func (f *filterFlags) registerFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.states, "state", nil, "only jobs in one of these `states`, e.g. failed,partial")
	flags.StringVar(&f.filename, "filename", "", "only jobs with this `part` in the file's name")
	flags.StringArrayVar(&f.labels, "label", nil, "only jobs with this `key=value`, or key for any value; may be repeated")
	flags.StringVar(&f.since, "since", "",
		"only jobs created since this `time`: 2h, 7d, 2026-11-30, or a full RFC 3339 time")
	flags.StringVar(&f.until, "until", "", "only jobs created before this `time`")
	flags.StringVar(&f.batch, "batch", "", "only jobs of this batch, by its `id`")
	completeValues(cmd, "state", stateNames()...)
}

// stateNames returns the states as flags take them.
func stateNames() []string {
	var names []string
	for n := range int32(len(inkstreamv1.Job_State_name)) {
		if n > 0 {
			names = append(names, strings.ToLower(inkstreamv1.Job_State(n).String()))
		}
	}
	return names
}

// buildFilter returns the filter of the flags; an error is one of usage.
func (f *filterFlags) buildFilter(now time.Time) (*inkstreamv1.JobFilter, error) {
	out := &inkstreamv1.JobFilter{Filename: f.filename, Label: f.labels, Batch: f.batch}
	for _, name := range f.states {
		state, ok := inkstreamv1.Job_State_value[strings.ToUpper(strings.TrimSpace(name))]
		if !ok || state == 0 {
			return nil, usageError{fmt.Errorf("--state %q: want %s", name, strings.Join(stateNames(), ", "))}
		}
		if s := inkstreamv1.Job_State(state); !slices.Contains(out.GetState(), s) {
			out.State = append(out.State, s)
		}
	}
	err := checkLabels(f.labels)
	if err != nil {
		return nil, err
	}
	if out.CreateAfter, err = parseMoment("--since", f.since, now); err != nil {
		return nil, err
	}
	out.CreateBefore, err = parseMoment("--until", f.until, now)
	return out, err
}

// checkLabels makes sure that labels to filter by have keys; an error is one of usage.
func checkLabels(labels []string) error {
	for _, l := range labels {
		if key, _, _ := strings.Cut(l, "="); key == "" {
			return usageError{fmt.Errorf("--label %q: want key=value, or key for any value", l)}
		}
	}
	return nil
}

// selectsAllJobs reports whether a filter selects every job.
func selectsAllJobs(f *inkstreamv1.JobFilter) bool { return proto.Size(f) == 0 }

// parseMoment reads a time: so long ago, a day, or a full time. Empty is none.
func parseMoment(flag, text string, now time.Time) (*timestamppb.Timestamp, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no time is a good one
	}
	if d, err := parseLongDuration(text); err == nil {
		return timestamppb.New(now.Add(-d)), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04",
		time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return timestamppb.New(t), nil
		}
	}
	return nil, usageError{fmt.Errorf("%s %q: want a time such as 2h, 7d, 2026-11-30 or 2026-11-30T12:00:00Z", flag, text)}
}

var errNoDuration = errors.New("no length of time")

// parseLongDuration reads a length of time, with days and weeks too: 7d, 2w, 1d12h.
func parseLongDuration(text string) (time.Duration, error) {
	total := time.Duration(0)
	for _, unit := range []struct {
		letter string
		length time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		if count, rest, ok := strings.Cut(text, unit.letter); ok {
			n, err := strconv.Atoi(count)
			if err != nil || n < 0 || n > 100_000 {
				return 0, errNoDuration
			}
			total += time.Duration(n) * unit.length
			if text = rest; text == "" {
				return total, nil
			}
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errNoDuration
	}
	return total + d, nil
}
