package pdf

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPrepareCache(t *testing.T) {
	t.Parallel()
	// mkdir makes a folder with exactly that mode.
	mkdir := func(t *testing.T, path string, mode os.FileMode) string {
		t.Helper()
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name  string
		above os.FileMode
		cache os.FileMode // 0: missing
		owner int         // of the folder above; 0: this user
		// sticky says that the folder above lies in one that all may add to.
		sticky bool
		ok     bool
	}{
		{name: "made anew", above: 0o755, ok: true},
		{name: "there already", above: 0o755, cache: 0o700, ok: true},
		{name: "readable by all", above: 0o755, cache: 0o755, ok: true},
		{name: "below a sticky folder", above: 0o777 | os.ModeSticky, cache: 0o700, ok: true},
		{name: "writable by the group", above: 0o755, cache: 0o770},
		{name: "writable by all", above: 0o755, cache: 0o777},
		{name: "sticky itself", above: 0o755, cache: 0o777 | os.ModeSticky},
		{name: "below a folder that others may write to", above: 0o777, cache: 0o700},
		{name: "below another user's folder", above: 0o755, cache: 0o700, owner: 12345, ok: true},
		{name: "below another user's folder in a sticky one", above: 0o755, cache: 0o700, owner: 12345, sticky: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if tt.sticky {
				root = mkdir(t, filepath.Join(root, "sticky"), 0o777|os.ModeSticky)
			}
			above := mkdir(t, filepath.Join(root, "above"), tt.above)
			cache := filepath.Join(above, "cache")
			if tt.cache != 0 {
				mkdir(t, cache, tt.cache)
			}
			if tt.owner != 0 {
				if err := os.Chown(above, tt.owner, -1); err != nil {
					t.Skipf("only root can give a folder away: %v", err)
				}
			}
			if err := prepareCache(cache); (err == nil) != tt.ok {
				t.Errorf("prepareCache = %v, want an error: %t", err, !tt.ok)
			}
		})
	}
}
