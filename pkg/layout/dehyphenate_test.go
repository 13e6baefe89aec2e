package layout

import "testing"

func TestDehyphenate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                      "",
		"one line":                              "one line",
		"on tape drives\n":                      "on tape drives\n",
		"auf Bandlauf-\nwerke schreiben\n":      "auf Bandlaufwerke schreiben\n",
		"a-\nb-\nc\n":                           "abc\n",
		"Doku\u00adment, ge\u00ad\nteilt":       "Doku\u00adment, geteilt",
		"ge\u2010\nteilt":                       "geteilt",
		"a state-of-the-\nart thing, well-\nto": "a state-of-the-\nart thing, well-\nto",
		"the Anglo-\nSaxon":                     "the Anglo-\nSaxon",
		"TO THE EXTENT PER-\nMITTED\nby law":    "TO THE EXTENT PERMITTED\nby law",
		"as ex-\npected\nby all":                "as expected\nby all",
		"from 3-\nfold":                         "from 3-\nfold",
		"the end -\nof it":                      "the end -\nof it",
		"end-\n\nof a block":                    "end-\n\nof a block",
		"cell-\tof\na\trow-\nof it":             "cell-\tof\na\trow-\nof it",
		"-\nx":                                  "-\nx",
		"word-\n":                               "word-\n",
		"word-":                                 "word-",
		"\n\n":                                  "\n\n",
	} {
		if got := Dehyphenate(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
