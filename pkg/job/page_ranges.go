package job

import (
	"slices"
	"strconv"
	"strings"
)

// FormatPageRanges writes page numbers as a list such as "3,7-9", sorted and without repeats.
func FormatPageRanges(pages []int) string {
	pages = slices.Compact(slices.Sorted(slices.Values(pages)))
	var b strings.Builder
	for i := 0; i < len(pages); {
		j := i
		for j+1 < len(pages) && pages[j+1] == pages[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(pages[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(pages[j]))
		}
		i = j + 1
	}
	return b.String()
}
