package watch_test

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
)

// BenchmarkStatus asks how a job stands: over REST, over REST by way of gRPC, and over gRPC. It reports the processor
// time of client, gateway and broker together, which is the same however busy the machine is.
func BenchmarkStatus(b *testing.B) {
	r := gatewaytest.Start(b, nil)
	rec := r.NewJob(gatewaytest.SetRunning)
	r.ProgressOf(rec)
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	get := func(query string) error {
		res, err := r.Web.Get(r.BaseURL + "/v1/jobs/" + string(rec.ID) + query)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, res.Body)
		if res.Body.Close(); res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	}
	for name, ask := range map[string]func() error{
		"direct": func() error { return get("") },
		"by-way": func() error { return get("?wait=0s") },
		"grpc": func() error {
			_, err := r.RPC.GetJob(b.Context(), &inkstreamv1.GetJobRequest{Id: string(rec.ID)})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			before := cpu()
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}
