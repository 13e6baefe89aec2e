package index

import inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"

// imageNames are the names under which the images of a run's pages are stored.
type imageNames struct {
	byDigest   map[string]string // by the digest of the bytes
	referenced map[string]bool   // those that pages refer to
}

func newImageNames() imageNames {
	return imageNames{byDigest: map[string]string{}, referenced: map[string]bool{}}
}

// unifyNames has every copy of an image named after the first, and reports whether that changed the page.
func (n imageNames) unifyNames(p *inkstreamv1.Page) bool {
	changed := false
	for _, img := range p.GetImages() {
		if !isImageName(img.GetName()) {
			continue
		}
		if sum := img.GetSha256(); sum != "" {
			if first, ok := n.byDigest[sum]; !ok {
				n.byDigest[sum] = img.GetName()
			} else if first != img.GetName() {
				img.Name, changed = first, true
			}
		}
		n.referenced[img.GetName()] = true
	}
	return changed
}
