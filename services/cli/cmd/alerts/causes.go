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

func (w *world) causes() []cause {
	var waiting string // a job
	submit := func(ctx context.Context) error {
		j, _, err := w.client.UploadUntilAcknowledged(ctx, "", pdftest.ScannedFile(pdftest.ScanOptions{Pages: 4}).PDF,
			chaos.WithoutDedupe())
		waiting = j.ID
		return err
	}
	finish := func(ctx context.Context) error { return w.finish(ctx, waiting) }
	fill := w.path("uploads/fill")
	return []cause{
		{"a document's file is gone when it is worked on again", []string{"InkstreamDeadLetters"}, w.poison, w.dropLetters},
		{"ocr hangs (SIGSTOP), and a scan is uploaded", []string{"InkstreamQueueOld", "InkstreamNoProgress"},
			func(ctx context.Context) error {
				return errors.Join(syscall.Kill(w.services["ocr"].PID(), syscall.SIGSTOP), submit(ctx))
			}, func(ctx context.Context) error {
				return errors.Join(syscall.Kill(w.services["ocr"].PID(), syscall.SIGCONT), finish(ctx))
			}},
		{"ocr is killed with a page in hand", []string{"InkstreamStageWithoutProcess"}, func(ctx context.Context) error {
			err := errors.Join(submit(ctx), w.awaitInHand(ctx, bus.OCR))
			w.services["ocr"].Kill()
			return err
		}, func(ctx context.Context) error { return errors.Join(w.start("ocr"), finish(ctx)) }},
		{"scan runs on a kernel without Landlock", []string{"InkstreamSandboxMissing"},
			func(context.Context) error { return w.restart("scan", w.withoutLandlock()...) },
			func(context.Context) error { return w.restart("scan") }},
		{"the certificate is replaced by one of five days", []string{"InkstreamCertificateEnds"},
			func(context.Context) error { return w.writeCertificate(5 * 24 * time.Hour) },
			func(context.Context) error { return w.writeCertificate(90 * 24 * time.Hour) }},
		{"the disk of the uploads (8 MiB) is filled", []string{"InkstreamDiskNearlyFull"},
			func(context.Context) error { return os.WriteFile(w.gatewayFile(fill), make([]byte, 15<<19), 0o600) },
			func(context.Context) error { return os.Remove(w.gatewayFile(fill)) }},
		{"a file is where the folder of the blobs was", []string{"InkstreamDependencyDown"}, func(context.Context) error {
			return errors.Join(os.Rename(w.path("blobs"), w.path("away")), os.WriteFile(w.path("blobs"), nil, 0o600))
		}, func(context.Context) error {
			return errors.Join(os.Remove(w.path("blobs")), os.Rename(w.path("away"), w.path("blobs")))
		}},
		{"one of three NATS servers is killed", []string{"InkstreamReplicasBehind"},
			func(context.Context) error { w.nats[nodes-1].Kill(); return nil },
			func(context.Context) error { return w.nats[nodes-1].Start() }},
		{"both gateways are killed", []string{"InkstreamBlind"}, func(context.Context) error {
			w.services["gateway"].Kill()
			w.services[tlsGateway].Kill()
			return nil
		}, func(ctx context.Context) error {
			return errors.Join(w.start("gateway"), w.start(tlsGateway), w.client.AwaitReady(ctx))
		}},
	}
}

// restart stops a service and starts it again, by a program that is given the service's command.
func (w *world) restart(name string, by ...string) error {
	return errors.Join(w.services[name].Stop(time.Minute), w.start(name, by...))
}

func (w *world) finish(ctx context.Context, id string) error {
	j, err := w.client.AwaitJobEnd(ctx, id)
	if err == nil && j.State != "SUCCEEDED" {
		err = fmt.Errorf("job %s ended as %s", id, j.State)
	}
	return err
}

// awaitInHand waits until a process has a task of a stage in hand.
func (w *world) awaitInHand(ctx context.Context, stage bus.Stage) error {
	return poll(ctx, time.Minute, func() (bool, error) {
		all, err := w.bus.QueryStageStatuses(ctx)
		return slices.ContainsFunc(all, func(st bus.StageStatus) bool { return st.Stage == stage && st.InFlight > 0 }), err
	})
}

// hang takes a document through that makes its engine hang, so that the engine's child is killed.
func (w *world) hang(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	options := chaos.WithoutDedupe()
	options.Set("page_timeout", "2s")
	j, _, err := w.client.UploadUntilAcknowledged(ctx, "", pdftest.HangingFile(pdftest.StallLoad).PDF, options)
	if err == nil {
		_, err = w.client.AwaitJobEnd(ctx, j.ID)
	}
	return err
}

// poison removes a job's file and retries the job.
func (w *world) poison(ctx context.Context) error {
	j, _, err := w.client.UploadUntilAcknowledged(ctx, "", pdftest.BornDigital(1).PDF, chaos.WithoutDedupe())
	if err != nil {
		return err
	}
	if err := errors.Join(w.finish(ctx, j.ID), os.Remove(w.path("blobs/default/"+j.ID+"/source.pdf"))); err != nil {
		return err
	}
	again := w.client.URL + "/v1/jobs/" + url.PathEscape(j.ID) + ":retry?all=true"
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

func (w *world) dropLetters(ctx context.Context) error {
	letters, err := w.bus.JetStream().Stream(ctx, bus.DeadLetterStream)
	if err != nil {
		return err
	}
	return letters.Purge(ctx)
}

// writeCertificate writes a certificate that is good for so long.
func (w *world) writeCertificate(validity time.Duration) error {
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
		os.WriteFile(w.path("tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600),
		os.WriteFile(w.path("tls.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
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
func (w *world) gatewayFile(path string) string {
	return fmt.Sprintf("/proc/%d/root%s", w.services["gateway"].PID(), path)
}
