package e2e

import "testing"

func TestSystemShowsFindings(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/system")
	b.waitText(".findings tr", "Walls of pdfium")
	for _, want := range []struct{ name, status string }{
		{"Server", "succeeded"}, {"Stage ocr", "succeeded"}, {"Walls of pdfium", "succeeded"}, {"Versions", "succeeded"}, {"Clock", "succeeded"},
		{"Durability", "partial"}, {"Access", "partial"}, // the tests' server syncs nothing and asks for no key
	} {
		b.wait("[...document.querySelectorAll('.findings tr')].some((e) => e.querySelector('th')?.textContent === " + quote(want.name) +
			" && e.querySelector('.pill." + want.status + "'))")
	}
	first := eval[string](b, "document.querySelector('.findings tbody .pill').className")
	if first == "pill succeeded" {
		t.Error("what is fine stands before what is not")
	}
	b.waitText(".findings .fix", "--durability=full")
}
