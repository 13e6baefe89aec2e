package blobtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"inkstream.dev/pkg/processtest"
)

const (
	// s3User and s3Password are what the server of S3Server asks for.
	s3User, s3Password = "blobtest", "blobtest-password"
	// s3StartTries bounds the races for a free port.
	s3StartTries = 5
)

// S3Server is a real S3 server, versitygw over a folder of its own, that ends with the test.
type S3Server struct {
	addr    string
	root    string
	buckets atomic.Int32
	process *processtest.Process
}

// NewS3Server starts a server on a free port. It puts the server's credentials into this process's environment, where
// blob.Open finds them. The server's program is .bin/versitygw of the repository, as make builds it; where it is
// missing it is built, which takes minutes.
func NewS3Server(t testing.TB) *S3Server {
	t.Helper()
	program, err := buildS3Server()
	if err != nil {
		t.Fatalf("build versitygw: %v", err)
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": s3User, "AWS_SECRET_ACCESS_KEY": s3Password, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		if err := os.Setenv(name, value); err != nil { //nolint:usetesting // parallel tests share it, and it is the same for all
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	s := &S3Server{root: filepath.Join(dir, "data")}
	for _, folder := range []string{"data", "attributes"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(s.Stop)
	for try := 1; ; try++ {
		if err = s.startProcess(t.Context(), program, filepath.Join(dir, "attributes")); err == nil {
			return s
		}
		if try == s3StartTries {
			t.Fatalf("start versitygw: %v", err)
		}
	}
}

// NewBucket makes a new bucket and returns the BucketURL that blob.Open takes for it.
func (s *S3Server) NewBucket(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("bucket-%d", s.buckets.Add(1))
	_, err := s.NewClient().CreateBucket(context.WithoutCancel(t.Context()), &s3.CreateBucketInput{Bucket: &name})
	if err != nil {
		t.Fatalf("make a bucket: %v", err)
	}
	return s.BucketURL(name)
}

// BucketURL returns the BucketURL of a bucket, which need not be there.
func (s *S3Server) BucketURL(bucket string) string {
	return "s3://" + bucket + "?endpoint=" + url.QueryEscape("http://"+s.addr)
}

// NewClient returns a client of the server, to look behind a Store.
func (s *S3Server) NewClient() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + s.addr), UsePathStyle: true, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider(s3User, s3Password, ""),
	})
}

// Stop ends the server, as its machine's failure would.
func (s *S3Server) Stop() {
	s.process.Stop()
	s.process = nil
}

func (s *S3Server) startProcess(ctx context.Context, program, attributes string) error {
	port, err := processtest.FreePort()
	if err != nil {
		return err
	}
	s.addr = fmt.Sprintf("127.0.0.1:%d", port)
	// The attributes of blobs go beside them, because not every file system has extended attributes.
	cmd := exec.Command(program, "--port", s.addr, "--access", s3User, "--secret", s3Password, "--keep-alive", "--quiet",
		"posix", "--sidecar", attributes, s.root)
	s.process, err = processtest.StartProcess(ctx, cmd, func(ctx context.Context) error {
		_, err := s.NewClient().ListBuckets(ctx, &s3.ListBucketsInput{})
		return err
	})
	return err
}

// buildS3Server returns the path of the server's program.
func buildS3Server() (string, error) {
	return processtest.BuildTool("github.com/versity/versitygw/cmd/versitygw")
}
