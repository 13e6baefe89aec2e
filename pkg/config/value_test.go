package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"inkstream.dev/pkg/config"
)

func TestParseBytes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want config.Bytes
		back string
	}{
		{"0", 0, "0"},
		{"1", 1, "1B"},
		{"1234", 1234, "1234B"},
		{"500MB", 500_000_000, "500MB"},
		{"1GiB", 1 << 30, "1GiB"},
		{"1gib", 1 << 30, "1GiB"},
		{" 1.5 GiB ", 3 << 29, "1536MiB"},
		{"0.5kb", 500, "500B"},
		{"2048", 2048, "2KiB"},
		{"7B", 7, "7B"},
		{"8TiB", 8 << 40, "8TiB"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, err := config.ParseBytes(tt.text)
			if err != nil || got != tt.want {
				t.Fatalf("ParseBytes(%q): got %d, %v, want %d", tt.text, int64(got), err, int64(tt.want))
			}
			if got.String() != tt.back {
				t.Errorf("String: got %q, want %q", got, tt.back)
			}
			if again, err := config.ParseBytes(got.String()); err != nil || again != got {
				t.Errorf("ParseBytes(%q): got %d, %v, want %d", got, int64(again), err, int64(got))
			}
		})
	}
}

func TestBytesRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "MB", "-1", "-1MB", "1.5", "1XB", "1 2MB", "NaNMB", "InfGB", "1e300GB",
		"99999999999GiB", "-0.5MB", "0x10"} {
		if got, err := config.ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q): got %d, want an error", text, int64(got))
		}
	}
}

func TestSecretNeverShows(t *testing.T) {
	t.Parallel()
	const text = "hunter2"
	secret := config.NewSecret(text)
	inside := struct{ token config.Secret }{secret}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("config", "token", secret, "all", inside)
	marshalled, err := json.Marshal(struct{ Token config.Secret }{secret})
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	shown := []string{logged.String(), string(marshalled), secret.String(), fmt.Sprint(inside), fmt.Sprintf("%#v", inside)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, secret), fmt.Sprintf(verb, &secret),
			fmt.Sprintf(verb, []config.Secret{secret}))
	}
	for _, got := range shown {
		if strings.Contains(got, text) || strings.Contains(got, fmt.Sprintf("%x", text)) {
			t.Errorf("got %q, want the secret masked", got)
		}
	}
	if got := fmt.Sprint(secret); got != "***" {
		t.Errorf("print: got %q, want ***", got)
	}
	if got := secret.RevealText(); got != text {
		t.Errorf("RevealText: got %q, want %q", got, text)
	}
	if got := fmt.Sprint(config.Secret{}); got != "" {
		t.Errorf("print of an empty secret: got %q, want nothing", got)
	}
}
