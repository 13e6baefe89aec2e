package rest

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// fillPath puts fields of a message into a path such as /v1/jobs/{id}/artifacts/{name=**}, and returns which.
func fillPath(pattern string, m protoreflect.Message) (path string, used map[protoreflect.Name]bool, err error) {
	used = map[protoreflect.Name]bool{}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(pattern, "{")
		b.WriteString(before)
		if !ok {
			return b.String(), used, nil
		}
		variable, after, _ := strings.Cut(rest, "}")
		name, glob, _ := strings.Cut(variable, "=")
		field := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		if field == nil {
			return "", nil, status.Errorf(codes.Internal, "the path %s names no field of %s", pattern, m.Descriptor().Name())
		}
		value := formatScalar(field, m.Get(field))
		if value == "" {
			return "", nil, status.Errorf(codes.InvalidArgument, "%s is empty", name)
		}
		if glob == "**" {
			parts := strings.Split(value, "/")
			for i, p := range parts {
				// Every hop on the way takes these for steps in the path.
				if p == "" || p == "." || p == ".." {
					return "", nil, status.Errorf(codes.InvalidArgument, "%s: %q is no name", name, value)
				}
				parts[i] = url.PathEscape(p)
			}
			value = strings.Join(parts, "/")
		} else {
			value = url.PathEscape(value)
		}
		b.WriteString(value)
		used[field.Name()] = true
		pattern = after
	}
}

// encodeQuery returns the set fields of a message but those that are used already, as the REST API takes them:
// filter.state=FAILED.
func encodeQuery(m protoreflect.Message, used map[protoreflect.Name]bool) string {
	q := url.Values{}
	addFields(q, "", m, used)
	return q.Encode()
}

func addFields(q url.Values, prefix string, m protoreflect.Message, used map[protoreflect.Name]bool) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := prefix + string(f.Name())
		switch {
		case prefix == "" && used[f.Name()]:
		case f.IsMap():
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				q.Add(fmt.Sprintf("%s[%s]", name, k.String()), formatScalar(f.MapValue(), v))
				return true
			})
		case f.IsList():
			for i := range v.List().Len() {
				q.Add(name, formatScalar(f, v.List().Get(i)))
			}
		case f.Message() != nil && !isWellKnownType(f):
			addFields(q, name+".", v.Message(), nil)
		default:
			q.Add(name, formatScalar(f, v))
		}
		return true
	})
}

// isWellKnownType reports whether a field's message is written as one value: a time or a duration.
func isWellKnownType(f protoreflect.FieldDescriptor) bool {
	return f.Message().ParentFile().Package() == "google.protobuf"
}

// formatScalar writes one value.
func formatScalar(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch f.Kind() {
	case protoreflect.EnumKind:
		if e := f.Enum().Values().ByNumber(v.Enum()); e != nil {
			return string(e.Name())
		}
		return strconv.Itoa(int(v.Enum()))
	case protoreflect.BytesKind:
		return base64.URLEncoding.EncodeToString(v.Bytes())
	case protoreflect.MessageKind:
		data, err := protojson.Marshal(v.Message().Interface())
		if err != nil {
			return "" // the server says that the field is missing
		}
		return strings.Trim(string(data), `"`)
	default:
		return v.String()
	}
}
