package score

import (
	"strings"
	"testing"
)

const checkedDocument = `# Report

BRITISH HUSBANDRY is the name. First 150. then 157. and the sum of 1,622.

| Year Ended |  | |
| - | - | - |
|  | 2023 | 2022 |
| Research and development | 2,532 | 1,892 |
| Sales | 1,136 | 680 |
`

func TestChecksHold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		check string
		want  bool
	}{
		{`{"type":"present","text":"the name"}`, true},
		{`{"type":"present","text":"The name"}`, false},
		{`{"type":"present","text":"The name","case_sensitive":false}`, true},
		{`{"type":"absent","text":"BRITISH HUSBANDRY"}`, false},
		{`{"type":"absent","text":"62"}`, true},
		{`{"type":"absent","text":"150"}`, false},
		{`{"type":"order","before":"150.","after":"157."}`, true},
		{`{"type":"order","before":"157.","after":"150."}`, false},
		{`{"type":"order","before":"150.","after":"158."}`, false},
		{`{"type":"table","cell":"680","up":"1,892"}`, true},
		{`{"type":"table","cell":"680","up":"2,532"}`, false},
		{`{"type":"table","cell":"680","left":"1,136"}`, true},
		{`{"type":"table","cell":"1,892","down":"680"}`, true},
		{`{"type":"table","cell":"1,136","right":"680"}`, true},
		{`{"type":"table","cell":"2,532","left_heading":"Research and development"}`, true},
		{`{"type":"table","cell":"2,532","left_heading":"Sales"}`, false},
		{`{"type":"table","cell":"2,532","top_heading":"2023"}`, true},
		{`{"type":"table","cell":"2,532","top_heading":"2022"}`, false},
		{`{"type":"table","cell":"1,136","top_heading":"Year Ended"}`, true},
		{`{"type":"table","cell":"no such"}`, false},
	} {
		t.Run(tt.check, func(t *testing.T) {
			t.Parallel()
			checks, err := ReadChecks(strings.NewReader(tt.check + "\n"))
			if err != nil || len(checks) != 1 {
				t.Fatalf("ReadChecks = %v, %v", checks, err)
			}
			if got := checks[0].HoldsFor(ParseMarkdown(checkedDocument)); got != tt.want {
				t.Errorf("HoldsFor = %v, want %v", got, tt.want)
			}
			if checks[0].HoldsFor(Markdown{}) {
				t.Error("holds of an empty document")
			}
		})
	}
}

func TestReadChecksRefusesUnknownTypes(t *testing.T) {
	t.Parallel()
	if got, err := ReadChecks(strings.NewReader(`{"type":"math"}`)); err == nil {
		t.Errorf("ReadChecks = %v, want an error", got)
	}
}
