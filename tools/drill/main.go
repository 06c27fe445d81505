// Command drill disrupts an installation of Herald under load, in a random order that a seed repeats. Then
// it compares the events that it wrote with the messages that the providers accepted, and judges whether
// every person got the right messages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	passed, err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "drill:", err)
		os.Exit(2)
	case !passed:
		os.Exit(1)
	}
}

const about = `drill writes events, breaks one part of the installation after the other, and judges the result.

  make drill                                     ten minutes on a separate local stack
  make drill ARGS='--seed 7 --for 2m'            the faults of seed 7, for two minutes
  make drill ARGS='--profile burst --rate 5'     another load
  make drill ARGS='--disaster temporal-lost'     Temporal loses its data
  bin/drill --bin bin --restart postgres='ssh db systemctl restart postgresql'
                                                 on the servers of DATABASE_URL, RABBITMQ_URL, …

It starts two workers, a gateway and the sandbox, with a new database, vhost and topic, so it sends
nothing to people. Exit codes: 0 passed, 1 the judge found something, 2 the drill could not run.

`

type settings struct {
	seed     uint64
	length   time.Duration
	settle   time.Duration
	profile  profile
	rate     float64
	people   int
	bin      string
	reports  string
	lossy    bool
	disaster disaster // its name is empty: none
	keep     string
	kafka    string // address of the link that the brokers name; empty: none
	commands commands
}

func readSettings(args []string, out io.Writer) (settings, error) {
	s := settings{commands: commands{}, profile: profiles[0]}
	flags := flag.NewFlagSet("drill", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, about)
		flags.PrintDefaults()
		fmt.Fprintln(out, "\nprofiles:")
		for _, p := range profiles {
			fmt.Fprintf(out, "  %-10s %s\n", p.name, p.about)
		}
		fmt.Fprintln(out, "\ndisasters:")
		for _, d := range disasters {
			fmt.Fprintf(out, "  %-17s %s\n", d.name, d.about)
		}
	}
	flags.Uint64Var(&s.seed, "seed", 0, "`number` that decides the faults and the kinds of events; 0: a random one")
	flags.DurationVar(&s.length, "for", 8*time.Minute, "length of the load and the faults, without the time to start and to settle")
	flags.DurationVar(&s.settle, "settle", 5*time.Minute, "maximum time for Herald to finish after the last fault")
	flags.Float64Var(&s.rate, "rate", 2, "business transactions a second, with four to six messages each")
	flags.IntVar(&s.people, "people", 300, "people that a broadcast reaches")
	flags.StringVar(&s.bin, "bin", "bin", "`folder` of worker, gateway, starter and sandbox")
	flags.StringVar(&s.reports, "reports", ".", "`folder` of the report, drill-SEED.md")
	flags.StringVar(&s.kafka, "kafka-link", "", "`address` that the broker tells its clients, where the drill listens, to cut and slow Kafka")
	flags.BoolVar(&s.lossy, "lossy", false, "let the providers lose every twentieth message, so that the drill must fail")
	flags.StringVar(&s.keep, "keep", "failed", "keep database, vhost, topic and ledger of a `run`: failed, always or never")
	flags.Func("profile", "`name` of the load, see below (default steady)", func(name string) error {
		i := slices.IndexFunc(profiles, func(p profile) bool { return p.name == name })
		if i < 0 {
			return errors.New("no such profile: see --help")
		}
		s.profile = profiles[i]
		return nil
	})
	flags.Func("disaster", "`name` of a loss of data, see below, in place of the other faults of servers", func(name string) error {
		i := slices.IndexFunc(disasters, func(d disaster) bool { return d.name == name })
		if i < 0 {
			return errors.New("no such disaster: see --help")
		}
		s.disaster = disasters[i]
		return nil
	})
	for _, verb := range []struct{ name, usage string }{
		{"restart", "restarts a server"}, {"kill", "kills a server, until --start"},
		{"start", "starts a killed server, and waits until it answers"},
		{"freeze", "freezes a server, until --thaw"}, {"thaw", "lets a frozen server continue"},
		{"wipe", "deletes the data of a killed server"}, {"copy", "copies the data of a server, or gives it a standby"},
		{"return", "gives the copy or the standby to a killed server"},
	} {
		flags.Func(verb.name, "`SERVER=COMMAND` that "+verb.usage+"; repeatable",
			func(value string) error { return s.commands.set(verb.name, value) })
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case !slices.Contains([]string{"failed", "always", "never"}, s.keep):
		return s, errors.New("--keep must be failed, always or never")
	case flags.NArg() > 0:
		return s, fmt.Errorf("%q is not a flag: see --help", flags.Arg(0))
	case s.length < 10*time.Second || s.settle <= 0 || s.rate <= 0 || s.people < 1:
		return s, errors.New("--for must be 10s or more; --settle, --rate and --people must be positive")
	}
	if err := s.disaster.possible(s.commands); err != nil {
		return s, err
	}
	for s.seed == 0 {
		s.seed = rand.Uint64N(1_000_000)
	}
	return s, nil
}
