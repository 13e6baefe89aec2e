package vision

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/services/ocr/recognise"
)

// Pages past a budget stay as the witness reads them and say so; other jobs and tenants, and the next day, go on.
func TestBudgets(t *testing.T) {
	t.Parallel()
	of := func(tenant, job string) recognise.Options {
		opts := sent
		opts.Tenant, opts.Job = tenant, job
		return opts
	}
	for _, tt := range []struct {
		name        string
		limit       func(b *budget)
		note        string
		other, free recognise.Options // free is not touched by the limit; other is
	}{
		{"of a job", func(b *budget) { b.perJob = 1 }, "the job's tokens are spent", of("a", "1"), of("a", "2")},
		{"of a tenant", func(b *budget) { b.perTenant = 1 }, "the tenant's tokens of the day are spent", of("a", "2"), of("b", "1")},
		{"of a day", func(b *budget) { b.perDay = 1 }, "the day's tokens are spent", of("b", "2"), recognise.Options{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newBubbleEngine(t, handlerTransport{"only": answerNumbered})
				tt.limit(e.client.budget)
				isModels := func(opts recognise.Options) (bool, string) {
					page, err := e.RecognisePage(t.Context(), newNumberedPage(t, 5), opts)
					if err != nil {
						t.Fatalf("RecognisePage: %v", err)
					}
					return strings.HasPrefix(page.GetEngine(), "vision"), strings.Join(page.GetNotes(), "; ")
				}
				if asked, notes := isModels(of("a", "1")); !asked {
					t.Errorf("first page: not the model's: %s", notes)
				}
				if asked, notes := isModels(tt.other); asked || !strings.Contains(notes, tt.note) {
					t.Errorf("past the limit: asked %v, notes %q, want %q", asked, notes, tt.note)
				}
				if tt.free.Engine != "" {
					if asked, notes := isModels(tt.free); !asked {
						t.Errorf("another one's page: not the model's: %s", notes)
					}
				}
				<-time.After(24 * time.Hour)
				if asked, notes := isModels(tt.other); !asked {
					t.Errorf("the next day: not the model's: %s", notes)
				}
			})
		})
	}
}

// What an endpoint says of tokens neither gives a budget back nor spends more than a request can take.
func TestBudgetsKeepToWhatARequestCanTake(t *testing.T) {
	t.Parallel()
	for _, said := range []int64{math.MinInt64, -1_000_000, 0, math.MaxInt64} {
		e, img := newEngine(t, true, func(w http.ResponseWriter, _ *http.Request) {
			writeStream(w, pageText, "")
			fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%[1]d}}\n\n", said)
			writeStream(w, "", "stop")
		})
		for range 3 { // three times the largest number is a negative one
			if _, err := e.RecognisePage(t.Context(), img, sent); err != nil {
				t.Fatal(err)
			}
		}
		e.client.budget.mu.Lock()
		spent := e.client.budget.all
		e.client.budget.mu.Unlock()
		if most := int64(3 * maxTries * e.client.profile.maxTokens); spent < 3 || spent > most {
			t.Errorf("the endpoint says %d: %d tokens are spent on three pages, want 3 to %d", said, spent, most)
		}
	}
}
