package standalone_test

import (
	"testing"

	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/standalone"
)

func TestMain(m *testing.M) {
	sandbox.Main(standalone.Programs()...)
	m.Run()
}
