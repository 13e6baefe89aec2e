package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
)

func TestNATSConfig(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nats")
	out := shell{}.want(t, 0, "", "nats-config", "-o", dir)
	want := []string{"admin.nk", "gateway.nk", "index.nk", "ingest.nk", "nats.conf", "ocr.nk", "render.nk", "scan.nk"}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s: mode %o, want 600", f.Name(), mode)
		}
		if !strings.Contains(out, filepath.Join(dir, f.Name())) {
			t.Errorf("%s is not told of", f.Name())
		}
		got = append(got, f.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}

	if err := os.Remove(filepath.Join(dir, "admin.nk")); err != nil {
		t.Fatal(err)
	}
	shell{}.want(t, exitError, "gateway.nk is there already", "nats-config", "-o", dir)
	if _, err := os.Stat(filepath.Join(dir, "admin.nk")); err == nil {
		t.Error("a second time: admin.nk was written")
	}
	shell{}.want(t, exitUsage, "2 servers", "nats-config", "-o", t.TempDir(), "--cluster", "a,b")
}

// A second run writes the same configuration as the first, around the same keys, and keeps what was there.
func TestNATSConfigKeepsKeys(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"a server": {"nats-config"}, "a cluster": {"nats-config", "--cluster", "a,b,c", "--listen", "127.0.0.1:4222"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "nats")
			args := append(args, "-o", dir)
			shell{}.want(t, exitError, "no keys to keep", append(args, "--keep-keys")...)
			shell{}.want(t, 0, "", args...)
			first := contents(t, dir)
			shell{}.want(t, exitError, "--keep-keys", args...)
			out := shell{}.want(t, 0, "reload", append(args, "--keep-keys")...)
			if got := contents(t, dir); !maps.Equal(got, first) {
				t.Errorf("files after nothing changed: %q, want the same as before", slices.Sorted(maps.Keys(got)))
			}
			if !strings.Contains(out, "admin.nk: kept") {
				t.Errorf("output %q, want that admin.nk is kept", out)
			}

			// An older program wrote less, and knew one service less.
			const grant = `"$JS.API.DIRECT.GET.INK_DLQ`
			want := maps.Clone(first)
			for file, text := range first {
				if strings.HasSuffix(file, ".conf") {
					old := strings.ReplaceAll(text, grant, `"nothing`)
					if old == text {
						t.Fatalf("%s does not have %s", file, grant)
					}
					want[file+".old"] = old
					if err := os.WriteFile(filepath.Join(dir, file), []byte(old), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			shell{}.want(t, 0, "written anew", append(args, "--keep-keys")...)
			if got := contents(t, dir); !maps.Equal(got, want) {
				t.Errorf("files: %q, want the first ones again, and the old ones as .old", slices.Sorted(maps.Keys(got)))
			}
			if err := os.Remove(filepath.Join(dir, "scan.nk")); err != nil {
				t.Fatal(err)
			}
			shell{}.want(t, 0, "scan.nk: made", append(args, "--keep-keys")...)
			got := contents(t, dir)
			if got["scan.nk"] == first["scan.nk"] || got["ocr.nk"] != first["ocr.nk"] {
				t.Error("keys: want a new one where there was none, and the others kept")
			}
			if err := os.WriteFile(filepath.Join(dir, "ocr.nk"), []byte("no seed"), 0o600); err != nil {
				t.Fatal(err)
			}
			shell{}.want(t, exitError, "ocr.nk", append(args, "--keep-keys")...)
			if again := contents(t, dir); again["nats.conf"] != got["nats.conf"] {
				t.Error("a key that is none: the configuration was written")
			}
		})
	}
}

// contents returns what the files in a folder hold.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// The servers of a cluster listen for each other where they do for the services.
func TestNATSConfigListens(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"10.0.0.1:4222": `"10.0.0.1:7777"`, "[::1]:4222": `"[::1]:7777"`, "0.0.0.0:4222": `"0.0.0.0:7777"`,
		":4222": `"0.0.0.0:7777"`,
	} {
		dir := filepath.Join(t.TempDir(), "nats")
		shell{}.want(t, 0, "", "nats-config", "-o", dir, "--cluster", "a,b,c", "--cluster-port", "7777", "--listen", listen)
		conf := contents(t, dir)["nats-a.conf"]
		if !strings.Contains(conf, "\n  listen: "+want+"\n") || !strings.Contains(conf, "\nlisten: \""+listen+"\"\n") {
			t.Errorf("--listen %s: got %s, want the cluster at %s", listen, conf[:min(len(conf), 600)], want)
		}
	}
}

func TestProvision(t *testing.T) {
	t.Parallel()
	s := bustest.NewSecuredServer(t)
	for range 2 { // the second time everything is there
		shell{}.want(t, 0, "replicas: 1", "provision", "--nats", s.ClientURL(), "--nats.nkey", s.SeedFile(bus.AdminUser))
	}
	shell{}.want(t, exitError, "uthorization", "provision", "--nats", s.ClientURL()) // without a key
	stranger := bustest.NewSecuredServer(t).SeedFile(bus.AdminUser)
	shell{}.want(t, exitError, "the key in "+stranger, "provision", "--nats", s.ClientURL(), "--nats.nkey", stranger)
	shell{}.want(t, exitError, "3 servers of a NATS cluster", "provision", "--nats", s.ClientURL(), "--nats.nkey",
		s.SeedFile(bus.AdminUser), "--nats.replicas", "3")
	shell{}.want(t, exitUsage, "want 1 to 5", "provision", "--nats", s.ClientURL(), "--nats.replicas", "0")
	shell{}.want(t, exitError, "as the administrator", "provision", "--nats", s.ClientURL(), "--nats.nkey",
		s.SeedFile(bus.GatewayUser),
		"--nats.inbox-prefix", "_INBOX_gateway", "--timeout", "3s")
}

// As many servers keep the streams as before, unless fewer are asked for.
func TestProvisionKeepsReplicas(t *testing.T) {
	t.Parallel()
	c := bustest.NewCluster(t)
	shell{}.want(t, 0, "replicas: 3", "provision", "--nats", c.ClientURLs())
	shell{}.want(t, 0, "INK_OCR: replicas lowered from 3 to 1", "provision", "--nats", c.ClientURLs(), "--nats.replicas",
		"1")
	shell{}.want(t, 0, "--nats.replicas 3", "provision", "--nats", c.ClientURLs()) // which would be better
	out := shell{}.want(t, 0, "replicas: 3", "provision", "--nats", c.ClientURLs(), "--nats.replicas", "3")
	if strings.Contains(out, "lowered") {
		t.Errorf("output %q, want none of lowered replicas", out)
	}
	shell{}.want(t, 0, "replicas: 3", "provision", "--nats", c.ClientURLs())
}
