package searchtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"inkstream.dev/pkg/processtest"
)

const (
	clickhouseUser, clickhousePassword = "inkstream", "searchtest 'password' & \"more\""
	// clickhouseStartTries bounds the races for a free port.
	clickhouseStartTries = 5
)

// clickhouseConfig is all that a server needs. What it keeps in memory is for small machines.
const clickhouseConfig = `<yandex>
	<logger><level>error</level><console>1</console></logger>
	<listen_host>127.0.0.1</listen_host>
	<tcp_port>%d</tcp_port>
	<path>%[2]s/data/</path>
	<tmp_path>%[2]s/tmp/</tmp_path>
	<users_config>%[2]s/users.xml</users_config>
	<default_profile>default</default_profile>
	<default_database>default</default_database>
	<mark_cache_size>268435456</mark_cache_size>
	<uncompressed_cache_size>0</uncompressed_cache_size>
	<timezone>Asia/Kolkata</timezone>
</yandex>`

const clickhouseUsers = `<yandex>
	<profiles><default></default></profiles>
	<quotas><default></default></quotas>
	<users><inkstream>
		<password>searchtest 'password' &amp; "more"</password>
		<networks><ip>127.0.0.1</ip></networks>
		<profile>default</profile>
		<quota>default</quota>
	</inkstream></users>
</yandex>`

// ClickHouse is a real server, that of Debian's package clickhouse-server, over a folder of its own, that ends with
// the test. Its time zone is none of those that hide mistakes.
type ClickHouse struct {
	dir       string
	port      int
	process   *processtest.Process
	databases atomic.Int32
}

// NewClickHouse starts a server on a free port. The test fails if the program clickhouse-server is not installed:
// 'make test' installs it.
func NewClickHouse(t testing.TB) *ClickHouse {
	t.Helper()
	dir, err := os.MkdirTemp("", "inkstream-clickhouse-*")
	if err != nil {
		t.Fatal(err)
	}
	s := &ClickHouse{dir: dir}
	t.Cleanup(func() {
		s.Stop()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s.Start(t)
	return s
}

// Start starts the server again after Stop, on the same data and port.
func (s *ClickHouse) Start(t testing.TB) {
	t.Helper()
	program := ClickHouseProgram()
	for try := 1; ; try++ {
		err := s.startProcess(context.WithoutCancel(t.Context()), program)
		if err == nil {
			return
		}
		if try == clickhouseStartTries {
			t.Fatalf("start clickhouse-server (of the package clickhouse-server): %v", err)
		}
		if s.databases.Load() == 0 {
			s.port = 0 // another process took it
		}
	}
}

// Stop kills the server.
func (s *ClickHouse) Stop() {
	s.process.Stop()
	s.process = nil
}

// URL returns the URL of a new database, which search.Open makes.
func (s *ClickHouse) URL() string { return s.DSN(fmt.Sprintf("test%d", s.databases.Add(1))) }

// DSN returns the URL of a database.
func (s *ClickHouse) DSN(database string) string { return ClickHouseDSN(s.port, database) }

// ClickHouseDSN returns the URL of a database of a server that has the configuration of WriteClickHouseConfig.
func ClickHouseDSN(port int, database string) string {
	return fmt.Sprintf("clickhouse://%s:searchtest%%20'password'%%20&%%20%%22more%%22@127.0.0.1:%d/%s", clickhouseUser,
		port, database)
}

// ClickHouseProgram returns where the server's program is.
func ClickHouseProgram() string {
	program, err := exec.LookPath("clickhouse-server")
	if err != nil {
		return "/usr/sbin/clickhouse-server" // where the package puts it, which is not on every user's path
	}
	return program
}

// WriteClickHouseConfig writes the configuration of a server that keeps all it has in dir, and returns the program's
// arguments.
func WriteClickHouseConfig(dir string, port int) (args []string, err error) {
	config := filepath.Join(dir, "config.xml")
	for name, text := range map[string]string{config: fmt.Sprintf(clickhouseConfig, port, dir),
		filepath.Join(dir, "users.xml"): clickhouseUsers} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return []string{"--config-file=" + config}, nil
}

// Inserts returns how many inserts a ClickHouse server has taken since its start, and how many rows came with them.
func Inserts(ctx context.Context, dsn string) (queries, rows uint64, err error) {
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return 0, 0, err
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	for event, n := range map[string]*uint64{"InsertQuery": &queries, "InsertedRows": &rows} {
		// A counter that was never counted is not there.
		if err := conn.QueryRow(ctx, "SELECT sum(value) FROM system.events WHERE event = '"+event+"'").Scan(n); err != nil {
			return 0, 0, err
		}
	}
	return queries, rows, nil
}

func (s *ClickHouse) startProcess(ctx context.Context, program string) error {
	if s.port == 0 {
		port, err := processtest.FreePort()
		if err != nil {
			return err
		}
		s.port = port
	}
	args, err := WriteClickHouseConfig(s.dir, s.port)
	if err != nil {
		return err
	}
	options, err := clickhouse.ParseDSN(s.DSN("default"))
	if err != nil {
		return err
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return err
	}
	defer conn.Close()
	cmd := exec.Command(program, args...)
	cmd.Dir = s.dir
	s.process, err = processtest.StartProcess(ctx, cmd, conn.Ping)
	return err
}
