package rest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
)

// What the address of a REST request says is read here before grpc-gateway reads it, which passes over parameters
// that it does not know, and tells of Go where a value is of the wrong kind. A filter that goes unnoticed would show
// one customer's pages to another.

// restCall is a unary call as REST clients make it.
type restCall struct {
	request protoreflect.MessageType
	body    bool // the fields are a JSON body
	// parameters are the fields that the query may hold, by every name that each has.
	parameters map[string]parameter
	names      []string // one of each
}

// parameter is a field that a query may hold.
type parameter struct {
	path  string // as grpc-gateway takes it
	field protoreflect.FieldDescriptor
}

// listRESTCalls returns the calls that the .proto files give an address, by method and address.
func listRESTCalls() (map[string]*restCall, error) {
	all := map[string]*restCall{}
	methods := inkstreamv1.File_inkstream_v1_service_proto.Services().ByName("InkstreamService").Methods()
	for i := range methods.Len() {
		rule, _ := proto.GetExtension(methods.Get(i).Options(), annotations.E_Http).(*annotations.HttpRule)
		var verb, path string
		switch p := rule.GetPattern().(type) {
		case *annotations.HttpRule_Get:
			verb, path = http.MethodGet, p.Get
		case *annotations.HttpRule_Post:
			verb, path = http.MethodPost, p.Post
		case *annotations.HttpRule_Delete:
			verb, path = http.MethodDelete, p.Delete
		default:
			continue // over gRPC alone
		}
		input := methods.Get(i).Input()
		request, err := protoregistry.GlobalTypes.FindMessageByName(input.FullName())
		if err != nil {
			return nil, fmt.Errorf("the request of %s: %w", methods.Get(i).Name(), err)
		}
		c := &restCall{request: request, body: rule.GetBody() == "*", parameters: map[string]parameter{}}
		if !c.body {
			c.addParameters(input.Fields(), path, "", "")
		}
		all[verb+" "+path] = c
	}
	return all, nil
}

// addParameters notes fields as parameters, except those that are parts of the address. Each has its name in the
// .proto file and that of its JSON as keys. A field within another has its own name as a key too, so that state is
// filter.state, and lists take what searches take.
func (c *restCall) addParameters(fields protoreflect.FieldDescriptors, address, prefix, jsonPrefix string) {
	for i := range fields.Len() {
		f := fields.Get(i)
		name, jsonName := string(f.Name()), f.JSONName()
		if prefix == "" && (strings.Contains(address, "{"+name+"}") || strings.Contains(address, "{"+name+"=")) {
			continue
		}
		if hasNestedFields(f) {
			c.addParameters(f.Message().Fields(), address, prefix+name+".", jsonPrefix+jsonName+".")
			continue
		}
		p := parameter{prefix + name, f}
		c.names = append(c.names, name)
		c.parameters[prefix+name], c.parameters[jsonPrefix+jsonName] = p, p
		for _, own := range []string{name, jsonName} {
			if _, taken := c.parameters[own]; !taken {
				c.parameters[own] = p
			}
		}
	}
}

// hasNestedFields reports whether a field holds a message with fields of its own, and not a time or a duration.
func hasNestedFields(f protoreflect.FieldDescriptor) bool {
	return f.Message() != nil && !f.IsList() && !f.IsMap() && f.Message().ParentFile().Package() != "google.protobuf"
}

// translateQuery reads what a query says of the call, and returns it as grpc-gateway takes it. An error names the
// parameter as the client did.
func (c *restCall) translateQuery(values url.Values) (url.Values, error) {
	probe, said := c.request.New().Interface(), url.Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p, ok := c.parameters[name]
		if !ok {
			return nil, errUnknownParameter(name, c.names)
		}
		for _, v := range values[name] {
			if said.Has(p.path) && !p.field.IsList() {
				return nil, apierror.InvalidField(fault.InvalidArgument, name, "%s is given more than once", name)
			}
			if runtime.PopulateFieldFromPath(probe, p.path, v) != nil {
				return nil, apierror.InvalidField(fault.InvalidArgument, name, "%s %q, want %s", name, apierror.ClipText(v),
					describeFieldKind(p.field))
			}
			said.Add(p.path, v)
		}
	}
	return said, nil
}

// checkPathParts makes sure that the parts of an address are of the kinds of their fields.
func (c *restCall) checkPathParts(parts map[string]string) error {
	probe := c.request.New().Interface()
	for name, v := range parts {
		if runtime.PopulateFieldFromPath(probe, name, v) == nil {
			continue
		}
		f := c.request.Descriptor().Fields().ByName(protoreflect.Name(name))
		return apierror.InvalidField(fault.InvalidArgument, name, "%s %q, want %s", name, apierror.ClipText(v), describeFieldKind(f))
	}
	return nil
}

// errUnknownParameter says that an address takes no parameter of that name, and which it takes.
func errUnknownParameter(name string, known []string) error {
	name = apierror.ClipText(name)
	if len(known) == 0 {
		return apierror.InvalidField(fault.InvalidArgument, name, "there is no parameter %q; this address takes none", name)
	}
	return apierror.InvalidField(fault.InvalidArgument, name, "there is no parameter %q; there are %s", name,
		strings.Join(known, ", "))
}

// describeFieldKind says what one value of a field is.
func describeFieldKind(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.StringKind:
		return "a text"
	case protoreflect.EnumKind:
		var names []string
		for i := range f.Enum().Values().Len() {
			if v := f.Enum().Values().Get(i); v.Number() != 0 { // that is none
				names = append(names, string(v.Name()))
			}
		}
		return "one of " + strings.Join(names, ", ")
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "a number"
	case protoreflect.Int32Kind:
		return "a whole number up to 2147483647"
	case protoreflect.MessageKind:
		switch f.Message().FullName() {
		case "google.protobuf.Timestamp":
			return "a time such as 2026-11-30T12:00:00Z"
		case "google.protobuf.Duration":
			return "a duration such as 30s"
		}
		return "an object"
	default:
		return "a whole number"
	}
}

// callsByMethod are the calls that the .proto files give an address, by the method's name.
var callsByMethod = sync.OnceValue(func() map[string]*restCall {
	all := map[string]*restCall{}
	methods := inkstreamv1.File_inkstream_v1_service_proto.Services().ByName("InkstreamService").Methods()
	calls, err := listRESTCalls()
	if err != nil {
		return all // NewCallMux has said so
	}
	for i := range methods.Len() {
		rule, _ := proto.GetExtension(methods.Get(i).Options(), annotations.E_Http).(*annotations.HttpRule)
		if c := calls[http.MethodGet+" "+rule.GetGet()]; c != nil {
			all[string(methods.Get(i).Name())] = c
		}
	}
	return all
})

// DecodeQuery reads what a query says of a call, for handlers that answer one by themselves.
func DecodeQuery(r *http.Request, method string, into proto.Message) error {
	c := callsByMethod()[method]
	if c == nil {
		return fmt.Errorf("there is no call %s with an address", method)
	}
	values, err := parseURLQuery(r)
	if err != nil {
		return err
	}
	said, err := c.translateQuery(values)
	if err != nil {
		return err
	}
	if err := runtime.PopulateQueryParameters(into, said, utilities.NewDoubleArray(nil)); err != nil {
		return ErrInvalidQuery()
	}
	return nil
}

// translateRequest checks a request, and returns it as grpc-gateway takes it.
func (c *restCall) translateRequest(w http.ResponseWriter, r *http.Request,
	parts map[string]string) (*http.Request, error) {
	values, err := parseURLQuery(r)
	if err != nil {
		return nil, err
	}
	if err := c.checkPathParts(parts); err != nil {
		return nil, err
	}
	said, err := c.translateQuery(values)
	if err != nil {
		return nil, err
	}
	address, meant := *r.URL, *r
	address.RawQuery, meant.URL = said.Encode(), &address
	if !c.body {
		meant.Body = http.NoBody
		return &meant, rejectCallBody(r)
	}
	meant.Body, err = DecodeJSONBody(w, r, c.request.New().Interface())
	return &meant, err
}

// parseURLQuery returns the parameters of an address. It makes sure that the address holds text: what is none cannot
// be passed on.
func parseURLQuery(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, ErrInvalidQuery()
	}
	ok := utf8.ValidString(r.URL.Path)
	for name, list := range values {
		ok = ok && utf8.ValidString(name) && !slices.ContainsFunc(list, func(v string) bool { return !utf8.ValidString(v) })
	}
	if !ok {
		return nil, fault.New(fault.InvalidArgument, "the address is not valid UTF-8")
	}
	return values, nil
}

// ErrInvalidQuery is the error of an address whose query cannot be parsed.
func ErrInvalidQuery() error {
	return fault.New(fault.InvalidArgument,
		"the parameters in the address cannot be read; & parts them, and %% begins an escape")
}

// CheckParameters makes sure that an address has no parameters but these.
func CheckParameters(r *http.Request, known ...string) error {
	values, err := parseURLQuery(r)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, name) {
			return errUnknownParameter(name, known)
		}
	}
	return nil
}

// AllowParameters is next for requests without other parameters than these.
func (s *Shell) AllowParameters(next http.HandlerFunc, known ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := CheckParameters(r, known...); err != nil {
			s.errors.WriteError(w, r, "route", err)
			return
		}
		next(w, r)
	}
}
