package rest

import (
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// uploadMethod is the one stream of a client.
const uploadMethod = inkstreamv1.InkstreamService_UploadDocument_FullMethodName

// uploadStream is POST /v1/jobs: a form with the options as fields, and then the document.
type uploadStream struct {
	conn *Conn
	ctx  context.Context //nolint:containedctx // grpc hands a stream's context out by a method only
	pipe *io.PipeWriter
	form *multipart.Writer
	part io.Writer
	done chan struct{} // closed when res and err are set
	res  *http.Response
	err  error
}

func (c *Conn) newUpload(ctx context.Context, method string) (*uploadStream, error) {
	if method != uploadMethod {
		return nil, status.Errorf(codes.Unimplemented, "%s cannot be called over REST", method)
	}
	return &uploadStream{conn: c, ctx: ctx}, nil
}

// Header returns nothing: the answer holds all that there is.
func (u *uploadStream) Header() (metadata.MD, error) { return nil, nil }

// Trailer returns nothing: REST has none.
func (u *uploadStream) Trailer() metadata.MD { return nil }

// Context returns the call's context.
func (u *uploadStream) Context() context.Context { return u.ctx }

// SendMsg sends the metadata, then the document piece by piece. After the server has answered early it returns
// io.EOF, as gRPC does; RecvMsg then says why.
func (u *uploadStream) SendMsg(m any) error {
	req, ok := m.(*inkstreamv1.UploadDocumentRequest)
	if !ok {
		return errNoUpload
	}
	if about := req.GetMetadata(); about != nil && u.pipe == nil {
		return u.startUpload(about)
	}
	if u.part == nil {
		return errNoUpload
	}
	if _, err := u.part.Write(req.GetData()); err != nil {
		return io.EOF
	}
	return nil
}

// startUpload sends the head of the form in a request of its own goroutine, which RecvMsg waits for.
func (u *uploadStream) startUpload(about *inkstreamv1.UploadMetadata) error {
	r, w := io.Pipe()
	req, err := http.NewRequestWithContext(u.ctx, http.MethodPost, u.conn.base.String()+"/v1/jobs", r)
	if err != nil {
		return err
	}
	u.pipe, u.form, u.done = w, multipart.NewWriter(w), make(chan struct{})
	u.conn.authorize(req)
	req.Header.Set("Content-Type", u.form.FormDataContentType())
	// What the server refuses by its head is refused before the document is sent.
	req.Header.Set("Expect", "100-continue")
	if key := about.GetIdempotencyKey(); key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	go func() {
		defer close(u.done)
		u.res, u.err = u.conn.sendRequest(req) //nolint:bodyclose // RecvMsg closes it
		// A server that has answered reads no more; writes that still come must fail.
		r.CloseWithError(io.ErrClosedPipe)
	}()
	for _, f := range formFields(about) {
		if err := u.form.WriteField(f[0], f[1]); err != nil {
			return io.EOF
		}
	}
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", `form-data; name="file"; filename="`+quoteFileName(about.GetFilename())+`"`)
	head.Set("Content-Type", "application/pdf")
	if u.part, err = u.form.CreatePart(head); err != nil {
		return io.EOF
	}
	return nil
}

// quoteFileName writes a file name as browsers do, so that it ends neither the quotes nor the line.
func quoteFileName(name string) string {
	return strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A").Replace(name)
}

// CloseSend ends the document.
func (u *uploadStream) CloseSend() error {
	if u.pipe == nil {
		return errNoUpload
	}
	if err := u.form.Close(); err != nil {
		return nil //nolint:nilerr // the server has answered early; RecvMsg says what
	}
	return u.pipe.Close()
}

// RecvMsg waits for the answer.
func (u *uploadStream) RecvMsg(m any) error {
	out, ok := m.(proto.Message)
	if !ok || u.pipe == nil {
		return errNoUpload
	}
	<-u.done
	if u.err != nil {
		return u.err
	}
	defer u.res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(u.res.Body, maxAnswer))
	if err != nil {
		return unansweredError(u.ctx, err)
	}
	return decodeAnswer(data, out)
}

// formFields returns the metadata as the fields of the form; what is not set is left out. An option's field has the
// name that it has in the API.
func formFields(about *inkstreamv1.UploadMetadata) [][2]string {
	fields := [][2]string{{"filename", about.GetFilename()}, {"webhook_url", about.GetWebhookUrl()},
		{"batch", about.GetBatch()}}
	about.GetOptions().ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		fields = append(fields, [2]string{string(f.Name()), formatOption(f, v)})
		return true
	})
	if len(about.GetLabels()) > 0 {
		labels, _ := json.Marshal(about.GetLabels()) // strings, which cannot fail; as an object, because values may hold commas
		fields = append(fields, [2]string{"labels", string(labels)})
	}
	return slices.DeleteFunc(fields, func(f [2]string) bool { return f[1] == "" })
}

// formatOption writes an option as forms have it: lists with commas, durations with their unit.
func formatOption(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if f.IsList() {
		items := make([]string, v.List().Len())
		for i := range items {
			items[i] = formatScalar(f, v.List().Get(i))
		}
		return strings.Join(items, ",")
	}
	if f.Message() != nil {
		if d, ok := v.Message().Interface().(*durationpb.Duration); ok {
			return d.AsDuration().String()
		}
	}
	return formatScalar(f, v)
}
