package apierror

import (
	"strings"
	"testing"

	"inkstream.dev/pkg/fault"
)

func TestEveryCodeHasAnAnswer(t *testing.T) {
	t.Parallel()
	for code, a := range Statuses {
		st := StatusOf(fault.New(code, "m"))
		if st.Code() != a.RPC || HTTPStatusOf(st) != a.HTTP || ReasonOf(st) != code {
			t.Errorf("%s: got %s, %d, %s, want %s, %d", code, st.Code(), HTTPStatusOf(st), ReasonOf(st), a.RPC, a.HTTP)
		}
	}
	if st := StatusOf(fault.New("NEW_CODE", "secret")); ReasonOf(st) != fault.Internal ||
		strings.Contains(st.Message(), "secret") {
		t.Errorf("a code without an answer: got %v, want INTERNAL", st)
	}
}
