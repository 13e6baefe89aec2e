package unicodescript

import "testing"

func TestUnspaced(t *testing.T) {
	t.Parallel()
	for _, r := range "漢かカーｶｰㄅกກកက々⼀〇" {
		if !IsUnspaced(r) || JoinsPrevious(r) {
			t.Errorf("%q: got unspaced %t, joins %t, want a character of its own", r, IsUnspaced(r), JoinsPrevious(r))
		}
	}
	for _, r := range "aéßя한،。、 5ﾞ\u3099ั\U000e0100" {
		if IsUnspaced(r) {
			t.Errorf("%q is taken for a character of a script without blanks", r)
		}
	}
	for _, r := range "ﾞﾟ\u0301\u3099ั" {
		if !JoinsPrevious(r) {
			t.Errorf("%q does not join the character before it", r)
		}
	}
}
