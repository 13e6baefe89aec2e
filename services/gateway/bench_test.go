package gateway

import (
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// BenchmarkStatus asks over REST how a job stands: at once, and by way of gRPC. It reports the processor time of client, gateway and broker together,
// which is the same however busy the machine is.
func BenchmarkStatus(b *testing.B) {
	r := start(b, nil)
	rec := r.newJob(running)
	r.progressOf(rec)
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for name, query := range map[string]string{"direct": "", "grpc": "?wait=0s"} {
		b.Run(name, func(b *testing.B) {
			before := cpu()
			for b.Loop() {
				res, err := r.web.Get(r.base + "/v1/jobs/" + string(rec.ID) + query)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				if res.Body.Close(); res.StatusCode != http.StatusOK {
					b.Fatal(res.Status)
				}
			}
			b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}
