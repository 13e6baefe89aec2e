package score

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a JSON Schema. It refers to nothing outside itself.
type Schema struct{ compiled *jsonschema.Schema }

// ParseSchema reads a schema.
func ParseSchema(data []byte) (*Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	const location = "https://schema.invalid/schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // loads nothing
	if err := compiler.AddResource(location, document); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	compiled, err := compiler.Compile(location)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Schema{compiled}, nil
}

// Validate reports the first thing in a JSON text that is not as the schema says: its place and the keyword that it
// violates, without the document's text.
func (s *Schema) Validate(data []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	wrong, ok := errors.AsType[*jsonschema.ValidationError](s.compiled.Validate(value))
	if !ok {
		return nil
	}
	for len(wrong.Causes) > 0 && !isAlternative(wrong) {
		wrong = wrong.Causes[0]
	}
	return fmt.Errorf("/%s: violates %s", strings.Join(wrong.InstanceLocation, "/"),
		strings.Join(wrong.ErrorKind.KeywordPath(), "/"))
}

// isAlternative reports whether the causes of an error are those of alternatives, none of which explains it.
func isAlternative(e *jsonschema.ValidationError) bool {
	path := e.ErrorKind.KeywordPath()
	return slices.Contains(path, "anyOf") || slices.Contains(path, "oneOf")
}
