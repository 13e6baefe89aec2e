// Package docs serves what the API looks like: OpenAPI, and a page that shows it.
package docs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/swaggest/swgui/v5emb"

	inkstreamproto "inkstream.dev/proto"
	"inkstream.dev/services/gateway/options"
	"inkstream.dev/services/gateway/rest"
	"inkstream.dev/services/gateway/upload"
	"inkstream.dev/services/gateway/watch"
)

// buildOpenAPI returns the REST API as OpenAPI 2.0: what the .proto files say, and the uploads, which are no call of
// gRPC's kind.
func buildOpenAPI() ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(inkstreamproto.OpenAPI, &doc); err != nil {
		return nil, fmt.Errorf("OpenAPI: %w", err)
	}
	doc["info"] = map[string]any{
		"title": "Inkstream", "version": "v1",
		"description": "PDFs in, searchable and structured documents out. Boxes are [x0, y0, x1, y1] in points from the top left of the page as displayed; " +
			"pages count from 1. Errors carry a stable code.",
	}
	doc["securityDefinitions"] = map[string]any{
		"bearer": map[string]any{"type": "apiKey", "in": "header", "name": "Authorization",
			"description": "Bearer and an API key or a token, where the server asks for one"},
	}
	doc["security"] = []any{map[string]any{"bearer": []any{}}}
	paths, ok := doc["paths"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("OpenAPI: no paths")
	}
	jobs, ok := paths["/v1/jobs"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("OpenAPI: no /v1/jobs")
	}
	post, ok := jobs["post"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("OpenAPI: no POST /v1/jobs")
	}
	describeUpload(post)
	list, _ := jobs["get"].(map[string]any)
	describeFilter(list)
	describeREST(paths)
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI: %w", err)
	}
	return data, nil
}

// describeREST adds what there is over REST alone.
func describeREST(paths map[string]any) {
	id := map[string]any{"name": "id", "in": "path", "type": "string", "required": true}
	operation := func(tag, summary, description string, params []any, answers map[string]any) map[string]any {
		return map[string]any{"tags": []any{tag}, "summary": summary, "description": description, "parameters": params,
			"responses": answers}
	}
	answer := func(text string) map[string]any { return map[string]any{"description": text} }
	header := func(name, text string, required bool) map[string]any {
		return map[string]any{"name": name, "in": "header", "type": "string", "required": required, "description": text}
	}
	const service = "InkstreamService"
	paths["/v1/jobs/{id}/artifacts.zip"] = map[string]any{"get": operation(service,
		"Download every artifact in one archive", "", []any{id}, map[string]any{
			"200": answer("a ZIP archive"), "202": answer("the job has not ended"),
			"409": answer("the job ended without a result"), "410": answer("it is gone"),
		})}
	changes, _ := paths["/v1/jobs/{id}/watch"].(map[string]any)
	if get, ok := changes["get"].(map[string]any); ok {
		params, _ := get["parameters"].([]any)
		get["parameters"] = append(params, map[string]any{
			"name": watch.LastEventParameter, "in": "query", "type": "string",
			"description": "what the header Last-Event-ID says, for clients that cannot send it",
		})
	}
	version := header(upload.TusResumableHeader, upload.TusVersion, true)
	paths["/v1/uploads"] = map[string]any{"post": operation(service, "Begin a resumable upload",
		"The tus protocol, "+upload.TusVersion+": "+upload.TusExtensions+
			". Upload-Metadata holds the fields of a form by their names.", []any{
			version, header(upload.TusLengthHeader, "the document's size", true),
			header("Upload-Metadata", "pairs of a name and a value in base64", false),
		}, map[string]any{"201": answer("Location is the upload's address")})}
	paths["/v1/uploads/{id}"] = map[string]any{
		"head": operation(service, "Ask where a resumable upload stands", "", []any{id, version},
			map[string]any{"200": answer("see " + upload.TusOffsetHeader)}),
		"patch": operation(service, "Go on with a resumable upload", "The body is of type "+upload.TusType+".", []any{
			id, version, header(upload.TusOffsetHeader, "where the body begins", true),
		}, map[string]any{"204": answer("with the last byte Location is the job's address"),
			"409": answer("the upload stands elsewhere")}),
		"delete": operation(service, "Drop a resumable upload", "", []any{id, version},
			map[string]any{"204": answer("it is gone")}),
	}
}

// describeFilter gives the conditions of a list their short names.
func describeFilter(list map[string]any) {
	params, _ := list["parameters"].([]any)
	for _, p := range params {
		param, _ := p.(map[string]any)
		long, _ := param["name"].(string)
		if name, ok := strings.CutPrefix(long, "filter."); ok {
			param["name"], param["description"] = name, fmt.Sprintf("%v\n\n%s is the same.", param["description"], long)
		}
	}
}

// describeUpload adds the form to the call that has a document fetched; both have one address. OpenAPI 2.0 cannot say
// that a body is either.
func describeUpload(post map[string]any) {
	post["summary"] = "Upload a document and start a job"
	post["description"] = "Takes multipart/form-data with the document as part \"file\" and options as fields, where several files make a batch; or the document as the body (application/pdf), with " +
		"options in the query; or JSON (application/json) that names a document in a bucket, as CreateJobRequest."
	post["consumes"] = []any{rest.MultipartType, rest.PDFType, "application/json"}
	params := []any{
		map[string]any{"name": "file", "in": "formData", "type": "file", "required": true, "description": "the PDF"},
		map[string]any{"name": upload.IdempotencyHeader, "in": "header", "type": "string",
			"description": "1 to 64 printable ASCII characters; the same key answers the same job"},
	}
	for _, name := range options.KnownFields {
		if name == options.FieldPassword {
			continue // no query or log should see it; the form takes it
		}
		params = append(params, map[string]any{"name": name, "in": "formData", "type": "string"})
	}
	post["parameters"] = params
	answers, _ := post["responses"].(map[string]any)
	if ok, found := answers["200"]; found {
		answers["202"] = ok
		delete(answers, "200")
	}
}

// RegisterDocs adds /openapi.json and /docs, a page that renders it without anything from elsewhere.
func RegisterDocs(shell *rest.Shell, mux *http.ServeMux) error {
	data, err := buildOpenAPI()
	if err != nil {
		return err
	}
	shell.HandleMethods(mux, "/openapi.json", map[string]http.HandlerFunc{http.MethodGet: func(w http.ResponseWriter,
		_ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		// A client that hung up has no use for it.
		_, _ = w.Write(data)
	}})
	page := v5emb.New("Inkstream", "/openapi.json", "/docs/")
	shell.HandleMethods(mux, "/docs", map[string]http.HandlerFunc{http.MethodGet: func(w http.ResponseWriter,
		r *http.Request) {
		http.Redirect(w, r, "/docs/", http.StatusMovedPermanently)
	}})
	mux.Handle("/docs/", page)
	return nil
}
