// Package config reads settings from flags and the environment. Every setting is a flag; the flag "ocr.workers" is
// OCR_WORKERS in the environment, in every program that has it. A flag that is given wins over the environment, and
// that over the default.
package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// NewFlagSet returns an empty set of flags that writes its help and errors to out. Help names each flag's variable.
func NewFlagSet(name string, out io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Usage = func() { PrintUsage(fs) }
	return fs
}

// ParseFlags parses args into fs and takes every flag that args do not give from the environment. A variable that is
// set but empty counts as not set. It reports every bad variable at once; a bad or unknown flag is reported first and
// alone, as package flag does it. The error is flag.ErrHelp where args ask for help. Arguments that are no flags are
// left in fs.Args.
//
// getenv is os.Getenv, or a test's own.
func ParseFlags(fs *flag.FlagSet, args []string, getenv func(string) string) error {
	if err := fs.Parse(args); err != nil {
		return err
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })

	var errs []error
	owner := map[string]string{}
	fs.VisitAll(func(f *flag.Flag) {
		name := VariableName(f.Name)
		if other, taken := owner[name]; taken {
			errs = append(errs, fmt.Errorf("flags %s and %s share the variable %s", other, f.Name, name))
			return
		}
		owner[name] = f.Name
		value := getenv(name)
		if given[f.Name] || value == "" {
			return
		}
		if err := fs.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	})
	return errors.Join(errs...)
}

// VariableName returns the environment variable of a flag: upper case, with underscores for dots and dashes.
func VariableName(flagName string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(flagName))
}

// PrintUsage writes every flag of fs to its output, with its variable and default.
func PrintUsage(fs *flag.FlagSet) {
	out := fs.Output()
	fmt.Fprintf(out, "Usage of %s:\n", fs.Name())
	fs.VisitAll(func(f *flag.Flag) { printFlagUsage(out, f) })
}

func printFlagUsage(out io.Writer, f *flag.Flag) {
	kind, usage := flag.UnquoteUsage(f)
	fmt.Fprintf(out, "  --%s", f.Name)
	if kind != "" {
		fmt.Fprintf(out, " %s", kind)
	}
	fmt.Fprintf(out, "  (%s)\n    \t%s", VariableName(f.Name), strings.ReplaceAll(usage, "\n", "\n    \t"))
	switch f.DefValue {
	case "", "0", "false", "0s": // says nothing
	default:
		fmt.Fprintf(out, " (default %s)", f.DefValue)
	}
	fmt.Fprintln(out)
}

// Problems collects what is wrong with a configuration, so that Validate reports all of it at once:
//
//	var p config.Problems
//	p.Check(c.Workers >= 1, "ocr.workers", "%d, want at least 1", c.Workers)
//	return p.Err()
//
// The zero value is ready to use.
type Problems struct {
	errs []error
}

// CheckFlag notes a problem with the flag of that name unless ok. The message says what was given and what is wanted;
// it holds no secret.
func (p *Problems) CheckFlag(ok bool, flagName, format string, args ...any) {
	if !ok {
		p.errs = append(p.errs, fmt.Errorf("%s: %s", flagName, fmt.Sprintf(format, args...)))
	}
}

// AddError notes err as it is, for instance what a part's own Validate returned. A nil err is no problem.
func (p *Problems) AddError(err error) {
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// Err returns every problem, joined; nil if there is none.
func (p *Problems) Err() error { return errors.Join(p.errs...) }
