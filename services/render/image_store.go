package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdf"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// imageStore stores the images of a chunk's pages under the names of artifacts. An image that several pages show is
// stored once, under the name that the first gave it.
type imageStore struct {
	blobs *blob.Store
	job   *job.Record
	names map[string]string // by digest
}

// newImageStore returns what keeps the images of a chunk, of which some pages have been read before.
func newImageStore(blobs *blob.Store, r *job.Record, read *inkstreamv1.PageBatch) *imageStore {
	m := &imageStore{blobs: blobs, job: r, names: make(map[string]string)}
	for _, p := range read.GetPages() {
		for _, image := range p.GetImages() {
			if image.GetName() != "" {
				m.names[image.GetSha256()] = image.GetName()
			}
		}
	}
	return m
}

// imageTypes are the content types by extension.
var imageTypes = map[string]string{"jpg": "image/jpeg", "jp2": "image/jp2", "j2k": "image/j2c", "png": "image/png"}

// storeImages stores the images that came with a page and names them in it. It must be done before the next page is
// read.
func (m *imageStore) storeImages(ctx context.Context, res *pdf.PageResult) error {
	for i, file := range res.Images {
		hash := sha256.New()
		if _, err := io.Copy(hash, file.NewReader()); err != nil {
			return fmt.Errorf("read image: %w", err)
		}
		digest := hex.EncodeToString(hash.Sum(nil))
		name, known := m.names[digest]
		if !known {
			name = fmt.Sprintf("images/%d-%d.%s", res.Page.GetNumber(), i+1, file.Ext)
			key := job.ArtifactKey(m.job.Tenant, m.job.ID, m.job.Run, name)
			if _, err := m.blobs.Put(ctx, key, file.NewReader(),
				blob.PutOptions{ContentType: imageTypes[file.Ext]}); err != nil {
				return fmt.Errorf("store image: %w", err)
			}
			m.names[digest] = name
		}
		image := res.Page.GetImages()[file.Index]
		image.Name, image.Sha256 = name, digest
	}
	return nil
}

// pageOptions says how a job's pages are read.
func pageOptions(o *job.Options) pdf.PageOptions {
	return pdf.PageOptions{OCR: pdf.OCRMode(o.OCR), Images: o.WantsArtifact(job.ArtifactImages)}
}
