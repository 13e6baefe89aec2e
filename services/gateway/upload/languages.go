package upload

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/options"
)

const (
	// languagesAge is how old the known languages may be.
	languagesAge = 30 * time.Second
	// languagesTimeout bounds the question for them; only an upload that names languages asks.
	languagesTimeout = time.Second
	// languagesMaxAge is how long the recogniser's word holds: it repeats it every minute while it runs.
	languagesMaxAge = 10 * time.Minute
)

// languageCache knows which languages the recogniser has, by its latest report. While there is no current report, every
// language passes; the recogniser then says what is wrong.
type languageCache struct {
	load func(context.Context) (job.Languages, error)

	mu    sync.Mutex // guards all below, and is held during load: a caller that waits wants the same answer
	codes []string
	asked time.Time
}

// checkInstalled returns an error that names the installed languages where one is asked for that is not among them.
func (l *languageCache) checkInstalled(wanted string) error {
	if wanted == "" || wanted == options.AutoLanguages {
		return nil
	}
	installed := l.installedCodes()
	if len(installed) == 0 {
		return nil
	}
	for code := range strings.SplitSeq(wanted, "+") {
		if !slices.Contains(installed, code) {
			return apierror.InvalidField(fault.InvalidOption, options.FieldLanguages, "language %q is not installed; these are: %s, and auto",
				apierror.ClipText(code),
				strings.Join(installed, ", "))
		}
	}
	return nil
}

func (l *languageCache) installedCodes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.asked) < languagesAge && l.codes != nil {
		return l.codes
	}
	ctx, cancel := context.WithTimeout(context.Background(), languagesTimeout) // the answer is for all uploads
	defer cancel()
	told, err := l.load(ctx)
	l.codes, l.asked = nil, time.Now()
	if err == nil && time.Since(told.Time) < languagesMaxAge {
		l.codes = told.Codes
	}
	return l.codes
}
