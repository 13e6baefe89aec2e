package config

import (
	"fmt"
	"io"
	"log/slog"
)

// secretMask is what a Secret shows of itself.
const secretMask = "***"

// Secret is a flag value that never shows itself: whatever prints, logs or marshals it gets "***", or nothing if it
// is empty. The text stands behind a pointer, because fmt prints unexported struct fields without asking their
// methods. Only RevealText returns it.
type Secret struct {
	text *string
}

// NewSecret returns a Secret that holds text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// RevealText returns the text, for the one place that needs it.
func (s Secret) RevealText() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsEmpty says whether there is no text.
func (s Secret) IsEmpty() bool { return s.text == nil }

// Set makes Secret a flag.Value.
func (s *Secret) Set(text string) error {
	*s = NewSecret(text)
	return nil
}

// String returns "***", or nothing if the secret is empty.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return secretMask
}

// Format masks the secret under every verb: without it, fmt prints the value itself for a verb that does not fit.
func (s Secret) Format(f fmt.State, _ rune) {
	// A write to a fmt.State cannot fail.
	_, _ = io.WriteString(f, s.String())
}

// MarshalText masks the secret in JSON, YAML and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue masks the secret in logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
