package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
)

// Keys of the bucket.

func recordKey(tenant string, id ID) string   { return "job." + tenant + "." + string(id) }
func progressKey(tenant string, id ID) string { return "prog." + tenant + "." + string(id) }

func claimKey(tenant, key string) string    { return "idem." + tenant + "." + hashKeyPart(key) }
func quotaKey(tenant, caller string) string { return "used." + tenant + "." + hashKeyPart(caller) }

// hashKeyPart makes a part of a key of what others chose, because keys allow few characters.
func hashKeyPart(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// Keys of blobs. Pages and chunks are padded so that listings sort.

// Folder returns the prefix of everything that a job stores.
func Folder(tenant string, id ID) string { return tenant + "/" + string(id) + "/" }

// SourceKey returns the key of the uploaded document.
func SourceKey(tenant string, id ID) string { return Folder(tenant, id) + "source.pdf" }

// ManifestKey returns the key of the note that says which job the document belongs to, should the record be lost
// before it is written.
func ManifestKey(tenant string, id ID) string { return Folder(tenant, id) + "manifest.json" }

// RunFolder returns the prefix of what a run of a job yields.
func RunFolder(tenant string, id ID, run int) string {
	return fmt.Sprintf("%srun-%d/", Folder(tenant, id), run)
}

// InfoKey returns the key of the document's facts with its outline, as JSON.
func InfoKey(tenant string, id ID, run int) string {
	return RunFolder(tenant, id, run) + "info.json"
}

// PageKey returns the key of a page's result, as protobuf (see pkg/document). Pages count from 1.
func PageKey(tenant string, id ID, run, page int) string {
	return fmt.Sprintf("%spages/%05d.pb", RunFolder(tenant, id, run), page)
}

// PlanKey returns the key of what the document as a whole tells about the blocks of its pages (see pkg/document);
// there is none before the run's end.
func PlanKey(tenant string, id ID, run int) string { return RunFolder(tenant, id, run) + PlanName }

// PlanName is the name of that blob in the folder of a run.
const PlanName = "plan.bin"

// JSONIndexKey returns the key of what is stored in place of document.json where that is made of the stored pages when it
// is read (see pkg/document).
func JSONIndexKey(tenant string, id ID, run int) string {
	return RunFolder(tenant, id, run) + JSONIndexName
}

// JSONIndexName is the name of that blob in the folder of a run.
const JSONIndexName = "document.idx"

// ArtifactFolder returns the prefix of a run's artifacts.
func ArtifactFolder(tenant string, id ID, run int) string {
	return RunFolder(tenant, id, run) + "artifacts/"
}

// ArtifactKey returns the key of an artifact.
func ArtifactKey(tenant string, id ID, run int, name string) string {
	return path.Join(ArtifactFolder(tenant, id, run), name)
}

// TempFolder returns the prefix of what a run needs only while it goes on. Blobs below it are not synced to disk.
func TempFolder(tenant string, id ID, run int) string {
	return fmt.Sprintf("%stmp/run-%d/", Folder(tenant, id), run)
}

// RasterKey returns the key of a page's raster for recognition.
func RasterKey(tenant string, id ID, run, page int) string {
	return fmt.Sprintf("%sraster-%05d.pgm", TempFolder(tenant, id, run), page)
}

// BatchKey returns the key of what render read on a chunk's pages.
func BatchKey(tenant string, id ID, run, chunk int) string {
	return fmt.Sprintf("%schunk-%05d.pb", TempFolder(tenant, id, run), chunk)
}

// PartKey returns the key of what render has read of a chunk that it goes on with later.
func PartKey(tenant string, id ID, run, chunk int) string {
	return fmt.Sprintf("%schunk-%05d-part.pb", TempFolder(tenant, id, run), chunk)
}

// RecognisedKey returns the key of what ocr read on a page.
func RecognisedKey(tenant string, id ID, run, page int) string {
	return fmt.Sprintf("%socr-%05d.pb", TempFolder(tenant, id, run), page)
}
