package tesseract

import "strings"

// isNoise reports whether a word is empty, as Tesseract says of a picture or a ruling. Doubtful words stay, whatever they are. Dropping those
// without letters and digits below a confidence of 0.1 to 0.5 takes away 5 to 25 of the 5,086 wrong characters in the corpus's 46 English
// documents, but makes 3 to 5 of them worse; dropping all words below 0.1 adds 206. What a word is worth is in its confidence.
func isNoise(w word) bool { return strings.TrimSpace(w.text) == "" }
