// Command schemas writes, for kubeconform, a JSON schema of each of some kinds of Kubernetes objects, in which an
// unknown field is an error:
//
//	schemas -out FOLDER -kinds Deployment,ScaledObject SWAGGER [CRD.yaml...]
//
// It takes them from Kubernetes's swagger.json and from files of CustomResourceDefinitions.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// schema is a JSON schema.
type schema = map[string]any

// writer writes the schemas of the kinds that are wanted.
type writer struct {
	definitions map[string]schema
	out         string
	want        []string
	wrote       []string
}

func main() {
	out := flag.String("out", "", "`folder` to write to")
	kinds := flag.String("kinds", "", "`names` of the kinds, joined by commas")
	flag.Parse()
	if err := run(*out, strings.Split(*kinds, ","), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

func run(out string, kinds, files []string) error {
	if out == "" || len(files) == 0 {
		return errors.New("want -out, and the path of a swagger.json")
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	var doc struct {
		Definitions map[string]schema `json:"definitions"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return fmt.Errorf("%s: %w", files[0], err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	w := writer{definitions: doc.Definitions, out: out, want: kinds}
	for _, d := range doc.Definitions {
		if err := w.builtin(d); err != nil {
			return err
		}
	}
	for _, file := range files[1:] {
		if err := w.custom(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	for _, kind := range kinds {
		if !slices.Contains(w.wrote, kind) {
			return fmt.Errorf("%s: no such kind", kind)
		}
	}
	return nil
}

// builtin writes the schema of a definition that is a kind's.
func (w *writer) builtin(d schema) error {
	kinds, _ := d["x-kubernetes-group-version-kind"].([]any)
	if len(kinds) != 1 { // a part of kinds, or of all
		return nil
	}
	k, ok := kinds[0].(schema)
	if !ok {
		return nil
	}
	return w.write(fmt.Sprint(k["group"]), fmt.Sprint(k["version"]), fmt.Sprint(k["kind"]), d)
}

// custom writes the schemas of the definitions in a file.
func (w *writer) custom(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(string(b), "\n---\n") {
		var crd struct {
			Spec struct {
				Group    string                `json:"group"`
				Names    struct{ Kind string } `json:"names"`
				Versions []struct {
					Name   string `json:"name"`
					Schema struct {
						OpenAPIV3Schema schema `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(part), &crd); err != nil {
			return err
		}
		for _, v := range crd.Spec.Versions {
			// What every object has, a definition does not repeat.
			if p, ok := v.Schema.OpenAPIV3Schema["properties"].(schema); ok {
				p["metadata"] = schema{"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
			}
			if err := w.write(crd.Spec.Group, v.Name, crd.Spec.Names.Kind, v.Schema.OpenAPIV3Schema); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the schema of a kind, under the name that kubeconform looks for.
func (w *writer) write(group, version, kind string, s schema) error {
	if !slices.Contains(w.want, kind) {
		return nil
	}
	w.wrote = append(w.wrote, kind)
	name := strings.ToLower(kind)
	if group != "" {
		name += "-" + strings.SplitN(group, ".", 2)[0]
	}
	b, err := json.Marshal(w.expand(s, 0))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.out, name+"-"+strings.ToLower(version)+".json"), append(b, '\n'), 0o644)
}

// maxDepth bounds what refers to itself.
const maxDepth = 40

// oneOf takes values of two types, where the swagger names one.
func oneOf(a, b string) schema { return schema{"oneOf": []any{schema{"type": a}, schema{"type": b}}} }

// expand returns a schema with its references replaced by what they refer to, and closed.
func (w *writer) expand(v any, depth int) any {
	s, ok := v.(schema)
	if !ok {
		return v
	}
	if ref, ok := s["$ref"].(string); ok {
		name := ref[strings.LastIndex(ref, "/")+1:]
		switch {
		case strings.HasSuffix(name, ".IntOrString"):
			return oneOf("string", "integer")
		case strings.HasSuffix(name, ".Quantity"):
			return oneOf("string", "number")
		case depth > maxDepth || strings.Contains(name, "JSONSchemaProps"):
			return schema{}
		}
		return w.expand(w.definitions[name], depth+1)
	}
	if s["x-kubernetes-int-or-string"] == true {
		return oneOf("string", "integer")
	}
	out := schema{}
	for key, value := range s {
		if w := w.keyword(key, value, depth); w != nil {
			out[key] = w
		}
	}
	_, has := out["properties"]
	if _, more := out["additionalProperties"]; has && !more && s["x-kubernetes-preserve-unknown-fields"] != true {
		out["additionalProperties"] = false
	}
	return out
}

// keyword returns the value of a schema's keyword with what is in it expanded, nil for one that is left out.
func (w *writer) keyword(key string, value any, depth int) any {
	switch key {
	case "description", "format":
		return nil
	case "properties":
		out := schema{}
		properties, _ := value.(schema)
		for name, p := range properties {
			out[name] = w.expand(p, depth+1)
		}
		return out
	case "items", "additionalProperties", "not":
		return w.expand(value, depth+1)
	case "allOf", "anyOf", "oneOf":
		list, _ := value.([]any)
		out := make([]any, len(list))
		for i, e := range list {
			out[i] = w.expand(e, depth+1)
		}
		return out
	}
	if strings.HasPrefix(key, "x-") {
		return nil
	}
	return value
}
