package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"herald/internal/notification"
)

// part is the share of the work that this process does.
type part struct {
	events   bool // serve the outbox pollers and the events
	channels []notification.Channel
	version  bool // only print the version
}

// parseFlags prints the reason for an error. The error is [flag.ErrHelp] if args ask for help.
func parseFlags(args []string) (part, error) {
	p := part{events: true, channels: notification.Channels()}
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	events := flags.Bool("events", false, "serve the outbox pollers and the events")
	flags.Func("channels", "serve the deliveries of these `channels`: "+channelNames(), func(list string) error {
		p.channels = nil
		for name := range strings.SplitSeq(list, ",") {
			channel := notification.Channel(strings.ToUpper(strings.TrimSpace(name)))
			if !channel.Valid() {
				return fmt.Errorf("no channel %q; there are %s", name, channelNames())
			}
			if !slices.Contains(p.channels, channel) {
				p.channels = append(p.channels, channel)
			}
		}
		p.events = false
		return nil
	})
	flags.BoolVar(&p.version, "version", false, "print the version and end")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(),
			"worker runs Herald's workflows and activities. Without flags it serves everything.\nIts settings come from the environment: "+
				"docs/reference.md lists them.\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return part{}, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("worker takes no arguments, but got %q", flags.Args())
		fmt.Fprintln(flags.Output(), err)
		return part{}, err
	}
	onlyEvents := *events && p.events // no --channels
	p.events = p.events || *events
	if onlyEvents {
		p.channels = nil
	}
	return p, nil
}

func channelNames() string {
	var names []string
	for _, channel := range notification.Channels() {
		names = append(names, strings.ToLower(string(channel)))
	}
	return strings.Join(names, ",")
}
