package quality

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Schema is a JSON Schema (draft 2020-12), as far as schemas of results go: types, properties, items,
// enumerations, bounds, patterns, references inside the schema, and combinations. One with any other keyword is
// refused, so that nothing is left unchecked.
type Schema struct {
	root   any
	regex  map[string]*regexp.Regexp
	checks map[string]keywordCheck
}

// annotations are keywords that say nothing of what is valid.
var annotations = []string{"$schema", "$id", "$comment", "$defs", "title", "description", "examples", "default",
	"deprecated", "format"}

// A keywordCheck returns what is wrong with the value at a place by the rule of one keyword; all are the rules of the
// same schema.
type keywordCheck func(v *validation, at string, rule, value any, all map[string]any) error

// newKeywordChecks are by keyword.
func newKeywordChecks() map[string]keywordCheck {
	return map[string]keywordCheck{
		"$ref": func(v *validation, at string, rule, value any, _ map[string]any) error {
			target, err := v.schema.resolveReference(rule)
			if err != nil {
				return err
			}
			return v.checkValue(at, target, value)
		},
		"type":                 checkType,
		"properties":           checkProperties,
		"additionalProperties": checkAdditional,
		"required":             checkRequired,
		"items":                checkItems,
		"enum": func(_ *validation, at string, rule, value any, _ map[string]any) error {
			list, _ := rule.([]any)
			return violationUnless(slices.ContainsFunc(list, func(x any) bool { return reflect.DeepEqual(x, value) }), at,
				"%v is none of %v", value, rule)
		},
		"const": func(_ *validation, at string, rule, value any, _ map[string]any) error {
			return violationUnless(reflect.DeepEqual(rule, value), at, "%v is not %v", value, rule)
		},
		"pattern": func(v *validation, at string, rule, value any, _ map[string]any) error {
			s, ok := value.(string)
			re := v.schema.regex[rule.(string)]
			return violationUnless(!ok || re.MatchString(s), at, "text does not match %v", rule)
		},
		"minimum":          newBoundCheck(func(v, b float64) bool { return v >= b }, "is below"),
		"maximum":          newBoundCheck(func(v, b float64) bool { return v <= b }, "is above"),
		"exclusiveMinimum": newBoundCheck(func(v, b float64) bool { return v > b }, "is not above"),
		"exclusiveMaximum": newBoundCheck(func(v, b float64) bool { return v < b }, "is not below"),
		"minItems":         newCountCheck(func(n, b float64) bool { return n >= b }, false, "fewer items than"),
		"maxItems":         newCountCheck(func(n, b float64) bool { return n <= b }, false, "more items than"),
		"minLength":        newCountCheck(func(n, b float64) bool { return n >= b }, true, "fewer characters than"),
		"maxLength":        newCountCheck(func(n, b float64) bool { return n <= b }, true, "more characters than"),
		"allOf": func(v *validation, at string, rule, value any, _ map[string]any) error {
			return errors.Join(v.checkAgainstEach(at, rule, value)...)
		},
		"anyOf": func(v *validation, at string, rule, value any, _ map[string]any) error {
			return violationUnless(slices.Contains(v.checkAgainstEach(at, rule, value), nil), at, "is nothing of what it may be")
		},
		"oneOf": func(v *validation, at string, rule, value any, _ map[string]any) error {
			wrong := slices.DeleteFunc(v.checkAgainstEach(at, rule, value), func(err error) bool { return err == nil })
			list, _ := rule.([]any)
			return violationUnless(len(wrong) == len(list)-1, at, "is %d of the things of which it may be one",
				len(list)-len(wrong))
		},
	}
}

// ParseSchema reads a schema.
func ParseSchema(data []byte) (*Schema, error) {
	s := &Schema{regex: map[string]*regexp.Regexp{}, checks: newKeywordChecks()}
	if err := json.Unmarshal(data, &s.root); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, s.checkKeywords("#", s.root)
}

// checkKeywords refuses what is not understood.
func (s *Schema) checkKeywords(at string, schema any) error {
	m, ok := schema.(map[string]any)
	if !ok {
		if _, ok := schema.(bool); ok {
			return nil
		}
		return fmt.Errorf("schema: %s is no schema", at)
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		below := at + "/" + key
		switch key {
		case "properties", "$defs":
			group, _ := m[key].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(group)) {
				if err := s.checkKeywords(below+"/"+name, group[name]); err != nil {
					return err
				}
			}
		case "items", "additionalProperties":
			if err := s.checkKeywords(below, m[key]); err != nil {
				return err
			}
		case "allOf", "anyOf", "oneOf":
			list, _ := m[key].([]any)
			for i, one := range list {
				if err := s.checkKeywords(fmt.Sprintf("%s/%d", below, i), one); err != nil {
					return err
				}
			}
		case "pattern":
			text, _ := m[key].(string)
			re, err := regexp.Compile(text)
			if err != nil {
				return fmt.Errorf("schema: %s: %w", below, err)
			}
			s.regex[text] = re
		case "$ref":
			if _, err := s.resolveReference(m[key]); err != nil {
				return err
			}
		default:
			if s.checks[key] == nil && !slices.Contains(annotations, key) {
				return fmt.Errorf("schema: %s: this keyword is not known here", below)
			}
		}
	}
	return nil
}

// resolveReference finds what a reference inside the schema points to.
func (s *Schema) resolveReference(ref any) (any, error) {
	text, _ := ref.(string)
	rest, ok := strings.CutPrefix(text, "#")
	if !ok {
		return nil, fmt.Errorf("schema: reference %q leads outside", text)
	}
	at := s.root
	for name := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		if name == "" {
			continue
		}
		m, _ := at.(map[string]any)
		next, ok := m[name]
		if !ok {
			return nil, fmt.Errorf("schema: reference %q leads nowhere", text)
		}
		at = next
	}
	return at, nil
}

// Validate reports the first thing in a JSON text that is not as the schema says, with its place but without
// the document's text.
func (s *Schema) Validate(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	return (&validation{schema: s}).checkValue("", s.root, value)
}

type validation struct{ schema *Schema }

func (v *validation) checkValue(at string, schema, value any) error {
	switch rules := schema.(type) {
	case bool:
		return violationUnless(rules, at, "may not be there")
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(rules)) {
			rule := v.schema.checks[key]
			if rule == nil {
				continue
			}
			if err := rule(v, at, rules[key], value, rules); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAgainstEach checks a value against each schema of a list.
func (v *validation) checkAgainstEach(at string, list, value any) []error {
	schemas, _ := list.([]any)
	out := make([]error, len(schemas))
	for i, schema := range schemas {
		out[i] = v.checkValue(at, schema, value)
	}
	return out
}

func violationUnless(ok bool, at, format string, args ...any) error {
	if ok {
		return nil
	}
	if at == "" {
		at = "/"
	}
	return fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
}

func checkType(_ *validation, at string, rule, value any, _ map[string]any) error {
	types, ok := rule.([]any)
	if !ok {
		types = []any{rule}
	}
	is := slices.ContainsFunc(types, func(t any) bool {
		switch t {
		case "integer":
			f, ok := value.(float64)
			return ok && f == math.Trunc(f)
		default:
			return t == jsonTypeOf(value)
		}
	})
	return violationUnless(is, at, "is of type %s, want %v", jsonTypeOf(value), rule)
}

func jsonTypeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

func checkProperties(v *validation, at string, rule, value any, _ map[string]any) error {
	m, ok := value.(map[string]any)
	properties, _ := rule.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if schema, known := properties[name]; ok && known {
			if err := v.checkValue(at+"/"+name, schema, m[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkAdditional(v *validation, at string, rule, value any, all map[string]any) error {
	m, _ := value.(map[string]any)
	properties, _ := all["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, known := properties[name]; known {
			continue
		}
		if err := v.checkValue(at+"/"+name, rule, m[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkRequired(_ *validation, at string, rule, value any, _ map[string]any) error {
	m, ok := value.(map[string]any)
	names, _ := rule.([]any)
	for _, name := range names {
		if _, there := m[fmt.Sprint(name)]; ok && !there {
			return violationUnless(false, at, "%v is missing", name)
		}
	}
	return nil
}

func checkItems(v *validation, at string, rule, value any, _ map[string]any) error {
	items, _ := value.([]any)
	for i, item := range items {
		if err := v.checkValue(fmt.Sprintf("%s/%d", at, i), rule, item); err != nil {
			return err
		}
	}
	return nil
}

func newBoundCheck(ok func(value, bound float64) bool, wrong string) keywordCheck {
	return func(_ *validation, at string, rule, value any, _ map[string]any) error {
		f, isNumber := value.(float64)
		limit, _ := rule.(float64)
		return violationUnless(!isNumber || ok(f, limit), at, "%v %s %v", f, wrong, limit)
	}
}

func newCountCheck(ok func(n, bound float64) bool, characters bool, wrong string) keywordCheck {
	return func(_ *validation, at string, rule, value any, _ map[string]any) error {
		var n int
		switch x := value.(type) {
		case string:
			if !characters {
				return nil
			}
			n = utf8.RuneCountInString(x)
		case []any:
			if characters {
				return nil
			}
			n = len(x)
		default:
			return nil
		}
		limit, _ := rule.(float64)
		return violationUnless(ok(float64(n), limit), at, "%s %v", wrong, limit)
	}
}
