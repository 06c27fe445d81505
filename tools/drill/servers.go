package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"herald/tools/link"
	"herald/tools/rig"
)

// serverNames are the servers, by the setting with their address.
var serverNames = []struct{ name, setting string }{
	{"postgres", "DATABASE_URL"},
	{"rabbitmq", "RABBITMQ_URL"},
	{"temporal", "TEMPORAL_ADDRESS"},
	{"kafka", "KAFKA_BROKERS"},
}

// commands are the shell commands that disrupt a server, by the flag's name and the server's name.
type commands map[string]map[string]string

// set takes the value of a flag: SERVER=COMMAND.
func (c commands) set(flag, value string) error {
	server, command, found := strings.Cut(value, "=")
	known := false
	for _, s := range serverNames {
		known = known || s.name == server
	}
	if !found || !known {
		return errors.New("must be SERVER=COMMAND, with the server postgres, rabbitmq, temporal or kafka")
	}
	if c[flag] == nil {
		c[flag] = map[string]string{}
	}
	c[flag][server] = command
	return nil
}

// shell returns a function that runs a command. An empty command does nothing.
func shell(command string) func(context.Context) error {
	return func(ctx context.Context) error {
		if command == "" {
			return nil
		}
		return rig.Run(ctx, nil, "sh", "-c", command)
	}
}

// faults returns the faults that the commands can cause at a server, and the faults left out.
func (c commands) faults(server string) (faults []fault, without []string) {
	for _, pair := range []struct{ kind, mend string }{{"kill", "start"}, {"freeze", "thaw"}, {"restart", ""}} {
		if command := c[pair.kind][server]; command != "" {
			faults = append(faults, fault{server, pair.kind, shell(command), shell(c[pair.mend][server])})
		} else if pair.kind != "restart" {
			without = append(without, fmt.Sprintf("%s %s: there is no --%s %s=COMMAND", pair.kind, server, pair.kind, server))
		}
	}
	return faults, without
}

// linkTo returns a link to the server of a setting, and the setting's value over the link. The
// error is the reason why a link is impossible.
func linkTo(setting, value string) (*link.Link, string, error) {
	u := &url.URL{Host: value}
	if setting == "TEMPORAL_ADDRESS" && (os.Getenv("TEMPORAL_TLS") != "" || os.Getenv("TEMPORAL_API_KEY") != "") {
		return nil, value, errors.New("the certificate names another host")
	}
	if setting != "TEMPORAL_ADDRESS" {
		var err error
		if u, err = url.Parse(value); err != nil {
			return nil, value, fmt.Errorf("%s cannot be read", setting)
		}
	}
	if u.Scheme == "amqps" || strings.HasPrefix(u.Query().Get("sslmode"), "verify") {
		return nil, value, errors.New("the certificate names another host")
	}
	if _, _, err := net.SplitHostPort(u.Host); err != nil {
		return nil, value, fmt.Errorf("%s must name one host and its port", setting)
	}
	l, err := link.To(u.Host)
	if err != nil {
		return nil, value, err
	}
	if setting == "TEMPORAL_ADDRESS" {
		return l, l.Address(), nil
	}
	u.Host = l.Address()
	return l, u.String(), nil
}
