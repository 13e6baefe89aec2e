package syntax

// WithoutSubsetTag returns the name of a font without the tag of a subset: six capitals and a plus (ISO 32000-1, 9.6.4).
func WithoutSubsetTag(name string) string {
	const tag = 6
	if len(name) <= tag || name[tag] != '+' {
		return name
	}
	for _, c := range name[:tag] {
		if c < 'A' || c > 'Z' {
			return name
		}
	}
	return name[tag+1:]
}
