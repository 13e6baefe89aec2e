package upload

import (
	"log/slog"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// Several gateways may share a folder, each with a lock of its own on the file.
func TestResumableUploadIsLockedForAllGateways(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var gateways [2]*tusFolder
	for i := range gateways {
		var err error
		if gateways[i], err = openTusFolder(dir, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	u := &resumable{ID: job.NewID(), Tenant: "acme", Length: 3}
	if err := gateways[0].createUpload(u); err != nil {
		t.Fatal(err)
	}
	unlock, ok := gateways[0].lockUpload(u.ID)
	if !ok {
		t.Fatal("an upload without a writer is locked")
	}
	if _, ok := gateways[1].lockUpload(u.ID); ok {
		t.Error("two gateways write to one upload")
	}
	unlock()
	if unlock, ok = gateways[1].lockUpload(u.ID); !ok {
		t.Error("the upload stays locked after the one that wrote is through")
	} else {
		unlock()
	}
}

func TestResumableUploadsOfOneTenantLeaveRoom(t *testing.T) {
	t.Parallel()
	folder, err := openTusFolder(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	folder.maxIncomplete, folder.maxPerTenant = 5, 3
	for range folder.maxPerTenant {
		if err := folder.createUpload(&resumable{ID: job.NewID(), Tenant: "a", Length: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for tenant, want := range map[string]bool{"a": false, "b": true} {
		err := folder.createUpload(&resumable{ID: job.NewID(), Tenant: tenant, Length: 1})
		if (err == nil) != want || err != nil && fault.CodeOf(err) != fault.QueueFull {
			t.Errorf("tenant %s: got %v, want it taken: %v", tenant, err, want)
		}
	}
}
