package pagegen

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Generator makes documents. Its zero value is ready; Close ends what it has started. It is not safe for concurrent use:
// several generators are, and one a core is as fast as it gets.
type Generator struct {
	browser *browser
	// officeProfile is the folder that LibreOffice keeps its settings in, empty before the first document.
	officeProfile string
}

// Close ends the browser, and removes what LibreOffice has kept.
func (g *Generator) Close() {
	if g.officeProfile != "" {
		os.RemoveAll(g.officeProfile)
		g.officeProfile = ""
	}
	if g.browser != nil {
		g.browser.close()
		g.browser = nil
	}
}

// Made is a generated document: its PDF, the scan of it if one was made, and what is known of it.
type Made struct {
	PDF, Scan []byte
	Truth     *Document
}

// Make makes the document of a family and a seed. The browser starts with the first document that needs it, and ends
// with that call's context at the latest.
func (g *Generator) Make(ctx context.Context, family Family, seed uint64) (*Made, error) {
	truth := &Document{Name: fmt.Sprintf("%s-%d", family.Name, seed), Family: family.Name, Typesetter: family.Typesetter, Seed: seed,
		Language: family.pickLanguage(seed)}
	if family.composeLaTeX != nil {
		c := newLaTeXComposer(seed, family.Name, truth.Language)
		family.composeLaTeX(c)
		pdf, found, err := typesetLaTeX(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", truth.Name, err)
		}
		truth.Pages, truth.Blocks = found.Pages, found.Blocks
		return &Made{PDF: pdf, Truth: truth}, nil
	}
	if family.composeODT != nil {
		return g.makeOffice(ctx, family, truth)
	}
	if g.browser == nil {
		var err error
		if g.browser, err = startBrowser(ctx); err != nil {
			return nil, err
		}
	}
	c := newComposer(seed, family.Name, truth.Language)
	family.compose(c)
	pdf, found, err := g.browser.printDocument(c.html())
	if err != nil {
		g.Close() // the next document starts another
		return nil, fmt.Errorf("%s: %w", truth.Name, err)
	}
	truth.Pages, truth.Blocks = found.Pages, found.Blocks
	return &Made{PDF: pdf, Truth: truth}, nil
}

func (g *Generator) makeOffice(ctx context.Context, family Family, truth *Document) (made *Made, err error) {
	if g.officeProfile == "" {
		if g.officeProfile, err = os.MkdirTemp("", "pagegen-profile-*"); err != nil {
			return nil, err
		}
	}
	c := newODTComposer(truth.Seed, family.Name, truth.Language)
	family.composeODT(c)
	pdf, found, err := typesetOffice(ctx, g.officeProfile, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", truth.Name, err)
	}
	truth.Pages, truth.Blocks = found.Pages, found.Blocks
	return &Made{PDF: pdf, Truth: truth}, nil
}

// AddScan makes the scan that goes with the document's seed.
func (m *Made) AddScan(ctx context.Context) error {
	recipe := PickRecipe(m.Truth.Seed*31 + uint64(len(m.Truth.Family)))
	scan, err := MakeScan(ctx, m, recipe)
	if err != nil {
		return err
	}
	m.Scan, m.Truth.Scan = scan, &recipe
	return nil
}

// WriteFiles writes NAME.pdf, NAME.truth.json and, if there is a scan, NAME.scan.pdf into a folder.
func (m *Made) WriteFiles(dir string) error {
	data, err := json.MarshalIndent(m.Truth, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, m.Truth.Name+".pdf"), m.PDF, 0o600); err != nil {
		return err
	}
	if m.Scan != nil {
		if err := os.WriteFile(filepath.Join(dir, m.Truth.Name+".scan.pdf"), m.Scan, 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, m.Truth.Name+".truth.json"), data, 0o600)
}

// ReadTruth reads a file that WriteFiles wrote.
func ReadTruth(path string) (*Document, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	truth := &Document{}
	if err := json.Unmarshal(data, truth); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return truth, nil
}
