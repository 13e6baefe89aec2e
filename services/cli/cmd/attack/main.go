// Command attack starts servers on loopback addresses, with two tenants, and has one of them do all that it can to the
// other, to the server and to its broker. It prints what was tried, what must hold and what was seen, and ends with 1
// where anything does not hold.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// attackTimeout bounds one attack.
const attackTimeout = 75 * time.Second

// attack is something that must not succeed. An error means that it did, or that it could not be tried.
type attack struct {
	row      string // what it is about
	name     string
	expected string
	run      func(ctx context.Context, t *testbed) (seen string, err error)
}

// groups are the attacks by the server that they are made on.
var groups = []struct {
	server  serverKind
	attacks []attack
}{
	{guarded, tenantAttacks},
	{guarded, credentialAttacks},
	{guarded, outsideAttacks},
	{guarded, injectionAttacks},
	{guarded, oddityAttacks},
	{guarded, fileAttacks},
	{guarded, loadAttacks},
	{guarded, unreadAttacks},
	{receiving, deliveryAttacks},
	{receiving, crashAttacks},
	{open, openAttacks},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	broken, err := runAttacks(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(2)
	}
	if broken > 0 {
		os.Exit(1)
	}
}

func runAttacks(ctx context.Context) (broken int, err error) {
	binary := flag.String("binary", "bin/inkstream", "the inkstream binary to attack")
	only := flag.String("only", "", "try only attacks whose name matches this `pattern`")
	weaken := flag.String("server-flags", "", "more `flags` of the servers, parted by blanks: a weaker server shows that an attack can succeed")
	limit := flag.Duration("timeout", 8*time.Minute, "how long all of it may take")
	keep := flag.Bool("keep", false, "keep the servers' data")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "inkstream-attack-*")
	if err != nil {
		return 0, err
	}
	if !*keep {
		defer os.RemoveAll(dir)
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	t := newTestbed(*binary, dir, strings.Fields(*weaken))
	defer func() { err = errors.Join(err, t.close()) }()
	start := time.Now()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ABOUT\tATTACK\tEXPECTED\tSEEN\t")
	tried := 0
	for _, g := range groups {
		for _, a := range g.attacks {
			if !pattern.MatchString(a.name) {
				continue
			}
			fmt.Fprintln(os.Stderr, "trying", a.name)
			seen, err := tryAttack(ctx, t, g.server, a)
			verdict := "ok"
			if tried++; err != nil {
				verdict, seen = "BROKEN", strings.ReplaceAll(err.Error(), "\n", "; ")
				broken++
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%.300s\t%s\n", a.row, a.name, a.expected, seen, verdict)
		}
	}
	if err := table.Flush(); err != nil {
		return broken, err
	}
	fmt.Printf("\n%d attacks in %s, %d broken\n", tried, time.Since(start).Round(time.Second), broken)
	return broken, nil
}

// tryAttack makes an attack on a running server of a kind; afterwards that server must still be alive and answer.
func tryAttack(ctx context.Context, t *testbed, kind serverKind, a attack) (seen string, err error) {
	ctx, cancel := context.WithTimeout(ctx, attackTimeout)
	defer cancel()
	if t.server, err = t.serverOf(ctx, kind); err != nil {
		return "", fmt.Errorf("start a server: %w", err)
	}
	start := time.Now()
	seen, err = a.run(ctx, t)
	if err := errors.Join(err, t.server.cancelJobs(context.WithoutCancel(ctx))); err != nil {
		return seen, err
	}
	if err := t.server.checkAlive(ctx); err != nil {
		return seen, fmt.Errorf("afterwards: %w", err)
	}
	return fmt.Sprintf("%s (%.1f s)", seen, time.Since(start).Seconds()), nil
}
