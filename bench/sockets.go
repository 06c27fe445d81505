package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// socketSettings are the flags of the case sockets.
type socketSettings struct {
	sockets  int
	rate     int // messages a second
	duration time.Duration
}

const socketsHelp = `sockets: what does a gateway with thousands of open sockets add to a message's way?

  plain server  the least on the same library that hands messages of RabbitMQ to sockets: no
                sign-in, no limits, no table, no catch-up, no acknowledgements
  gateway       the gateway as it is, whose clients sign in, ask for what is unread, and
                acknowledge each message, so that it becomes DELIVERED

Each runs by itself, with the same sockets and messages, one after the other. A message is
timed from before its publication, with the broker's confirmation, to its frame at the
client. Memory is what the system counts for the process, less what it had without sockets.
Clients, server, broker and database share the machine.

  make bench ARGS=sockets
  make bench ARGS='sockets --duration 10m'

flags:
`

// sockets sets everything up, measures each server, and removes what it made.
func sockets(ctx context.Context, args []string, out io.Writer) (err error) {
	var s socketSettings
	flags := flag.NewFlagSet("sockets", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&s.sockets, "sockets", 5000, "open sockets, each of another recipient")
	flags.IntVar(&s.rate, "rate", 200, "messages a second, each to one of them")
	flags.DurationVar(&s.duration, "duration", time.Minute, "how long messages are published")
	flags.Usage = func() {
		fmt.Fprint(out, socketsHelp)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.sockets < 1 || s.sockets > 10_000 || s.rate < 1 || s.duration < time.Second || flags.NArg() > 0 {
		return errors.New("there must be 1 to 10,000 sockets, a message a second, and a second")
	}
	in, err := newInstallation(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.remove()) }()
	servers, err := newSocketServers(ctx, in, s.sockets)
	if err != nil {
		return err
	}
	var results []socketResult
	for _, server := range servers {
		r, err := s.measure(ctx, in, server)
		if err != nil {
			return fmt.Errorf("%s: %w", server.name, err)
		}
		results = append(results, r)
	}
	s.report(out, results)
	return nil
}

// socketResult is what was seen of one program.
type socketResult struct {
	name      string
	published int
	repeated  int
	took      []time.Duration // from before the publication to the frame, of each message that came
	empty     int             // bytes of memory before the first socket
	open      int             // with all sockets open
	loaded    int             // after the last message
	cpu       time.Duration
	recorded  int // as DELIVERED; of the gateway alone
}

// measure runs one server with all sockets.
func (s socketSettings) measure(ctx context.Context, in *installation, server *socketServer) (socketResult, error) {
	r := socketResult{name: server.name}
	if err := server.start(ctx); err != nil {
		return r, err
	}
	defer server.stop()
	var err error
	if r.empty, err = server.settledMemory(ctx); err != nil {
		return r, err
	}
	clients := newSocketClients(server.acknowledges)
	defer clients.close()
	if err := clients.open(ctx, s.sockets, server); err != nil {
		return r, err
	}
	if r.open, err = server.settledMemory(ctx); err != nil {
		return r, err
	}
	began := server.cpu()
	if r.published, err = s.publish(ctx, in, server, clients); err != nil {
		return r, err
	}
	clients.await(r.published)
	r.cpu = server.cpu() - began
	if r.loaded, err = server.memory(); err != nil {
		return r, err
	}
	r.took, r.repeated = clients.results()
	slices.Sort(r.took)
	if server.acknowledges {
		r.recorded, err = in.delivered(ctx, r.published)
	}
	return r, err
}

func (s socketSettings) report(out io.Writer, results []socketResult) {
	fmt.Fprintf(out, "\n%d sockets, each of another recipient; %d messages a second for %s\n\n", s.sockets, s.rate, s.duration)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tPUBLISHED\tARRIVED\tTWICE\tDELIVERED\tP50\tP99\tMAX\tMEMORY PER SOCKET\tAFTER THE LOAD\tCPU")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%.0f %% of one\n",
			r.name, r.published, len(r.took), r.repeated, r.recorded, r.percentile(50), r.percentile(99), r.percentile(100),
			perSocket(r.open-r.empty, s.sockets), perSocket(r.loaded-r.empty, s.sockets), 100*r.cpu.Seconds()/s.duration.Seconds())
	}
	_ = w.Flush() // out is a terminal or a buffer
}

func (r socketResult) percentile(p int) string {
	if len(r.took) == 0 {
		return "-"
	}
	return r.took[(len(r.took)-1)*p/100].Round(10 * time.Microsecond).String()
}

func perSocket(bytes, sockets int) string {
	return fmt.Sprintf("%.1f KiB", float64(bytes)/1024/float64(sockets))
}
