package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"slices"
	"syscall"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/services/standalone/chaos"
)

// cause is something that goes wrong, and the alerts that it makes fire.
type cause struct {
	what       string
	alerts     []string
	make, undo func(ctx context.Context) error
}

func (tb *testbed) causes() []cause {
	var waiting string // a job
	submit := func(ctx context.Context) error {
		j, _, err := tb.client.UploadUntilAcknowledged(ctx, "", pdftest.ScannedFile(pdftest.ScanOptions{Pages: 4}).PDF,
			chaos.WithoutDedupe())
		waiting = j.ID
		return err
	}
	finish := func(ctx context.Context) error { return tb.finish(ctx, waiting) }
	fill := tb.path("uploads/fill")
	return []cause{
		{"a document's file is gone when it is worked on again", []string{"InkstreamDeadLetters"}, tb.poison, tb.dropLetters},
		{"ocr hangs (SIGSTOP), and a scan is uploaded", []string{"InkstreamQueueOld", "InkstreamNoProgress"},
			func(ctx context.Context) error {
				return errors.Join(syscall.Kill(tb.services["ocr"].PID(), syscall.SIGSTOP), submit(ctx))
			}, func(ctx context.Context) error {
				return errors.Join(syscall.Kill(tb.services["ocr"].PID(), syscall.SIGCONT), finish(ctx))
			}},
		{"ocr is killed with a page in hand", []string{"InkstreamStageWithoutProcess"}, func(ctx context.Context) error {
			err := errors.Join(submit(ctx), tb.awaitInHand(ctx, bus.OCR))
			tb.services["ocr"].Kill()
			return err
		}, func(ctx context.Context) error { return errors.Join(tb.start("ocr"), finish(ctx)) }},
		{"scan runs on a kernel without Landlock", []string{"InkstreamSandboxMissing"},
			func(context.Context) error { return tb.restart("scan", tb.withoutLandlock()...) },
			func(context.Context) error { return tb.restart("scan") }},
		{"the certificate is replaced by one of five days", []string{"InkstreamCertificateEnds"},
			func(context.Context) error { return tb.writeCertificate(5 * 24 * time.Hour) },
			func(context.Context) error { return tb.writeCertificate(90 * 24 * time.Hour) }},
		{"the disk of the uploads (8 MiB) is filled", []string{"InkstreamDiskNearlyFull"},
			func(context.Context) error { return os.WriteFile(tb.gatewayFile(fill), make([]byte, 15<<19), 0o600) },
			func(context.Context) error { return os.Remove(tb.gatewayFile(fill)) }},
		{"a file is where the folder of the blobs was", []string{"InkstreamDependencyDown"}, func(context.Context) error {
			return errors.Join(os.Rename(tb.path("blobs"), tb.path("away")), os.WriteFile(tb.path("blobs"), nil, 0o600))
		}, func(context.Context) error {
			return errors.Join(os.Remove(tb.path("blobs")), os.Rename(tb.path("away"), tb.path("blobs")))
		}},
		{"one of three NATS servers is killed", []string{"InkstreamReplicasBehind"},
			func(context.Context) error { tb.nats.Servers[nodes-1].Kill(); return nil },
			func(context.Context) error { return tb.nats.Servers[nodes-1].Start() }},
		{"both gateways are killed", []string{"InkstreamBlind"}, func(context.Context) error {
			tb.services["gateway"].Kill()
			tb.services[tlsGateway].Kill()
			return nil
		}, func(ctx context.Context) error {
			return errors.Join(tb.start("gateway"), tb.start(tlsGateway), tb.client.AwaitReady(ctx))
		}},
	}
}

// restart stops a service and starts it again, by a program that is given the service's command.
func (tb *testbed) restart(name string, by ...string) error {
	return errors.Join(tb.services[name].Stop(time.Minute), tb.start(name, by...))
}

func (tb *testbed) finish(ctx context.Context, id string) error {
	j, err := tb.client.AwaitJobEnd(ctx, id)
	if err == nil && j.State != "SUCCEEDED" {
		err = fmt.Errorf("job %s ended as %s", id, j.State)
	}
	return err
}

// awaitInHand waits until a process has a task of a stage in hand.
func (tb *testbed) awaitInHand(ctx context.Context, stage bus.Stage) error {
	return poll(ctx, time.Minute, func() (bool, error) {
		all, err := tb.bus.QueryStageStatuses(ctx)
		return slices.ContainsFunc(all, func(st bus.StageStatus) bool { return st.Stage == stage && st.InFlight > 0 }), err
	})
}

// hang takes a document through that makes its engine hang, so that the engine's child is killed.
func (tb *testbed) hang(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	options := chaos.WithoutDedupe()
	options.Set("page_timeout", "2s")
	j, _, err := tb.client.UploadUntilAcknowledged(ctx, "", pdftest.HangingFile(pdftest.StallLoad).PDF, options)
	if err == nil {
		_, err = tb.client.AwaitJobEnd(ctx, j.ID)
	}
	return err
}

// poison removes a job's file and retries the job.
func (tb *testbed) poison(ctx context.Context) error {
	j, _, err := tb.client.UploadUntilAcknowledged(ctx, "", pdftest.BornDigital(1).PDF, chaos.WithoutDedupe())
	if err != nil {
		return err
	}
	if err := errors.Join(tb.finish(ctx, j.ID), os.Remove(tb.path("blobs/default/"+j.ID+"/source.pdf"))); err != nil {
		return err
	}
	again := tb.client.URL + "/v1/jobs/" + url.PathEscape(j.ID) + ":retry?all=true"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, again, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("retry: %s", resp.Status)
	}
	return nil
}

func (tb *testbed) dropLetters(ctx context.Context) error {
	letters, err := tb.bus.JetStream().Stream(ctx, bus.DeadLetterStream)
	if err != nil {
		return err
	}
	return letters.Purge(ctx)
}

// writeCertificate writes a certificate that is good for so long.
func (tb *testbed) writeCertificate(validity time.Duration) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(validity),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(tb.path("tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600),
		os.WriteFile(tb.path("tls.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
}

// onSmallDisk returns a command that gives the program behind it a folder on a disk of 8 MiB, which no other process
// sees.
func onSmallDisk(folder string) []string {
	command := []string{"unshare", "--mount"}
	if os.Geteuid() != 0 {
		command = append(command, "--map-root-user")
	}
	return append(command, "sh", "-ec", `mount -t tmpfs -o size=8m tmpfs "$0"; exec "$@"`, folder)
}

// gatewayFile returns the path of a file as the gateway sees it.
func (tb *testbed) gatewayFile(path string) string {
	return fmt.Sprintf("/proc/%d/root%s", tb.services["gateway"].PID(), path)
}
