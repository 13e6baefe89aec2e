package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// An option that is in JobOptions, but has no flag, fails here.
func TestEveryOptionHasAFlag(t *testing.T) {
	t.Parallel()
	cmd := &cobra.Command{}
	addOptionFlags(cmd)
	fields := (&inkstreamv1.JobOptions{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		name := strings.ReplaceAll(string(fields.Get(i).Name()), "_", "-")
		switch name {
		case "lane": // each command has its own default
			continue
		case "password": // a flag would show in the list of processes
			name = "password-file"
		}
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
	}
}
