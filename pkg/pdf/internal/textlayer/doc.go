// Package textlayer writes the invisible text that makes a scan searchable, and the coloured boxes that show what was
// made of a page, as additions to pages of an incremental update (package structure). It is pure: what it is given
// are pages as they were recognised.
package textlayer
