package score

import (
	"strings"
	"testing"
)

const testSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"required": ["pages"],
	"additionalProperties": false,
	"properties": {
		"pages": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/page"}},
		"name": {"type": ["string", "null"], "maxLength": 3, "pattern": "^[a-z]*$"},
		"size": {"oneOf": [{"type": "integer", "minimum": 1}, {"const": "none"}]},
		"any": {"anyOf": [{"type": "boolean"}, {"type": "array", "maxItems": 1}]}
	},
	"$defs": {
		"page": {
			"type": "object",
			"properties": {"outcome": {"enum": ["ocr", "blank"]}, "score": {"type": "number", "minimum": 0, "exclusiveMaximum": 1}},
			"additionalProperties": {"type": "string"},
			"allOf": [{"required": ["outcome"]}]
		}
	}
}`

func TestValidate(t *testing.T) {
	t.Parallel()
	s, err := ParseSchema([]byte(testSchema))
	if err != nil {
		t.Fatal(err)
	}
	const pages = `"pages":[{"outcome":"ocr"}]`
	for _, tt := range []struct{ doc, wrong string }{
		{`{` + pages + `}`, ""},
		{`{` + pages + `,"name":null,"size":2,"any":[1]}`, ""},
		{`{` + pages + `,"size":"none","any":true}`, ""},
		{`{"pages":[{"outcome":"ocr","score":0.5,"more":"text"}]}`, ""},
		{`{}`, "/: violates required"},
		{`[]`, "/: violates type"},
		{`{"pages":[]}`, "/pages: violates minItems"},
		{`{"pages":[{"outcome":"ocr"},{"outcome":"x"}]}`, "/pages/1/outcome: violates enum"},
		{`{"pages":[{}]}`, "/pages/0: violates required"},
		{`{"pages":[{"outcome":"ocr","score":1}]}`, "/pages/0/score: violates exclusiveMaximum"},
		{`{"pages":[{"outcome":"ocr","score":-0.1}]}`, "/pages/0/score: violates minimum"},
		{`{"pages":[{"outcome":"ocr","more":1}]}`, "/pages/0/more: violates type"},
		{`{` + pages + `,"other":1}`, "/: violates additionalProperties"},
		{`{` + pages + `,"name":"abcd"}`, "/name: violates maxLength"},
		{`{` + pages + `,"name":"A"}`, "/name: violates pattern"},
		{`{` + pages + `,"size":1.5}`, "/size: violates oneOf"},
		{`{` + pages + `,"any":"x"}`, "/any: violates anyOf"},
		{`{`, "EOF"},
	} {
		t.Run(tt.doc, func(t *testing.T) {
			t.Parallel()
			err := s.Validate([]byte(tt.doc))
			if tt.wrong == "" && err != nil || tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
				t.Errorf("Validate = %v, want %q", err, tt.wrong)
			}
		})
	}
}

func TestParseSchemaRefusesWhatIsNoSchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{`{"properties":{"a":{"uniqueItems":3}}}`, `{"$ref":"other.json"}`,
		`{"$ref":"#/$defs/none"}`, `{"pattern":"("}`, `[]`, `{`} {
		if _, err := ParseSchema([]byte(schema)); err == nil {
			t.Errorf("ParseSchema(%s) took it", schema)
		}
	}
}
