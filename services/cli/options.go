package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// durationFlag is a length of time that a flag takes: 90s, 36h, 30d, 2w.
type durationFlag time.Duration

// String returns the length.
func (l *durationFlag) String() string { return time.Duration(*l).String() }

// Type names the values in help.
func (l *durationFlag) Type() string { return "time" }

// Set reads a length.
func (l *durationFlag) Set(text string) error {
	d, err := parseLongDuration(text)
	if err != nil {
		return errors.New("want a length of time such as 90s, 36h or 30d")
	}
	*l = durationFlag(d)
	return nil
}

// optionFlags are the flags of a job's options. What is not given leaves the choice to the server.
type optionFlags struct {
	set     *pflag.FlagSet
	options *inkstreamv1.JobOptions
	// read holds what takes over each flag that is given.
	read map[string]func()
}

// addOptionFlags adds the flags of a job's options but those that mean nothing to the command, and has them
// completed. What it returns reads them once they are parsed.
func addOptionFlags(cmd *cobra.Command, but ...string) func() (*inkstreamv1.JobOptions, error) {
	f := optionFlags{set: pflag.NewFlagSet("options", pflag.ContinueOnError), options: &inkstreamv1.JobOptions{},
		read: map[string]func(){}}
	for _, option := range job.AllOptions() {
		if option.Help != "" {
			f.addFlag(option)
		}
	}
	passwordFile := f.set.String("password-file", "", "`file` with the document's password, which may end with a line feed")
	f.set.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(but, flag.Name) {
			cmd.Flags().AddFlag(flag)
		}
	})
	for _, option := range job.AllOptions() {
		if len(option.Values) > 0 {
			completeValues(cmd, flagName(option), option.Values...)
		}
	}
	return func() (*inkstreamv1.JobOptions, error) {
		f.set.VisitAll(func(flag *pflag.Flag) {
			if read := f.read[flag.Name]; read != nil && flag.Changed {
				read()
			}
		})
		if *passwordFile != "" {
			// A flag would show in the list of processes and stay in the shell's history.
			data, err := os.ReadFile(*passwordFile)
			if err != nil {
				return nil, fmt.Errorf("--password-file: %w", err)
			}
			f.options.Password = strings.TrimRight(string(data), "\r\n")
		}
		return f.options, nil
	}
}

// flagName returns the name of an option's flag.
func flagName(option job.Option) string { return strings.ReplaceAll(option.Name, "_", "-") }

// addFlag adds an option's flag, of the kind that its field in JobOptions is.
func (f *optionFlags) addFlag(option job.Option) {
	name, message := flagName(option), f.options.ProtoReflect()
	field := message.Descriptor().Fields().ByName(protoreflect.Name(option.Name))
	switch {
	case field.IsList():
		values := f.set.StringSlice(name, nil, option.Help)
		f.read[name] = func() {
			list := message.Mutable(field).List()
			list.Truncate(0)
			for _, v := range *values {
				list.Append(protoreflect.ValueOfString(v))
			}
		}
	case field.Kind() == protoreflect.BoolKind:
		value := f.set.Bool(name, field.HasPresence(), option.Help) // what is on by default is told apart from what is not given
		f.read[name] = func() { message.Set(field, protoreflect.ValueOfBool(*value)) }
	case field.Kind() == protoreflect.Int32Kind:
		value := f.set.Int32(name, 0, option.Help)
		f.read[name] = func() { message.Set(field, protoreflect.ValueOfInt32(*value)) }
	case field.Kind() == protoreflect.MessageKind:
		var value durationFlag
		f.set.Var(&value, name, option.Help)
		f.read[name] = func() {
			message.Set(field, protoreflect.ValueOfMessage(durationpb.New(time.Duration(value)).ProtoReflect()))
		}
	default:
		value := f.set.String(name, "", option.Help)
		f.read[name] = func() { message.Set(field, protoreflect.ValueOfString(*value)) }
	}
}
