package check

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/smtp"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"herald/internal/channel"
	"herald/internal/notification"
	"herald/internal/wiring"
)

// Senders holds the channels of a process, with their settings.
type Senders struct {
	Wired    wiring.Wiring          // the settings of each channel
	Problem  error                  // an error in these settings
	Channels []notification.Channel // the channels that the process serves
}

// Providers returns each channel's providers that are on, in the order in which Herald asks them.
func (s Senders) Providers() map[notification.Channel][]string {
	providers := map[notification.Channel][]string{}
	for _, name := range s.Channels {
		for _, p := range s.Wired[name].All {
			if p.On() && s.Problem == nil {
				providers[name] = append(providers[name], p.Name)
			}
		}
	}
	return providers
}

var channelFindings = []finding[*survey]{
	{place: "settings", find: (*survey).wrongSettings,
		problem: "$why",
		remedy:  "correct them in the environment; docs/reference.md lists them"},
	{place: "settings of $channel", find: each((*survey).routed, func(c routedChannel) []args { return c.when(c.off != "") }),
		problem: "$off, so the channel is off; $events are routed over it: these deliveries fail with ChannelNotConfigured",
		remedy:  "set what is missing where the worker runs, and here; or delete the rows of event_type_channel_routing for $channel"},
	{place: "settings of $channel", find: each((*survey).routed, func(c routedChannel) []args { return c.when(c.wrong != "") }),
		problem: "$wrong",
		remedy:  "correct them where the worker runs, and here"},
	{place: "channel_user_type", row: "$channel", find: each((*survey).routed, func(c routedChannel) []args { return c.when(!c.serves) }),
		problem: "$events are routed over it, but it serves no user type: every delivery is UNSUPPORTED",
		remedy:  "insert a row for each user type that it may serve"},
}

var providerFindings = []finding[*survey]{
	{place: "provider of $channel", row: "$host", find: (*survey).silent,
		problem: "it does not answer: $why",
		remedy:  "check the network between the worker and the provider, HTTPS_PROXY, and the setting that names the host"},
}

// routedChannel is a channel that has a routing row, and that the process serves.
type routedChannel struct {
	name       notification.Channel
	types      []string // its event types
	serves     bool     // whether it serves any user type
	off, wrong string   // why the worker cannot create its sender
}

// routed returns the routed channels. It creates their senders as the worker does, which connects to no
// server and sends nothing.
func (s *survey) routed(ctx context.Context) (channels []routedChannel, err error) {
	routes, err := s.routes(ctx)
	if err != nil {
		return nil, err
	}
	serving, err := s.reader().ServingChannels(ctx)
	for _, name := range s.senders.Channels {
		c := routedChannel{name: name, serves: slices.Contains(serving, name)}
		for _, route := range routes {
			if route.Channel == name && s.senders.Wired[name] != nil {
				c.types = append(c.types, route.EventType)
			}
		}
		if len(c.types) > 0 {
			c.off, c.wrong = s.senders.flaws(name)
			channels = append(channels, c)
		}
	}
	return channels, err
}

// flaws returns why a channel is off, or what is wrong with its settings.
func (s Senders) flaws(name notification.Channel) (off, wrong string) {
	_, err := s.Wired[name].NewSender(channel.Process{Timeout: serverTimeout, Slots: 1}, wiring.Limits{})
	lacking, isOff := errors.AsType[*channel.OffError](err)
	switch {
	case err == nil, s.Problem != nil:
		return "", ""
	case isOff:
		return lacking.Error(), ""
	default:
		return "", err.Error()
	}
}

// when returns the arguments of a mistake about the channel, if it is one.
func (c routedChannel) when(wrong bool) []args {
	if !wrong {
		return nil
	}
	events := "events of type " + c.types[0]
	if len(c.types) > 1 {
		events += fmt.Sprintf(" and %d more", len(c.types)-1)
	}
	return []args{{"channel": string(c.name), "events": events, "off": c.off, "wrong": c.wrong}}
}

func (s *survey) wrongSettings(context.Context) ([]args, error) {
	if s.senders.Problem == nil {
		return nil, nil
	}
	return []args{{"why": s.senders.Problem.Error()}}, nil
}

// serverTimeout bounds the wait for one server.
const serverTimeout = 5 * time.Second

// silent finds providers of the routed channels that do not answer. It sends a HEAD request or EHLO,
// without credentials, and no message.
func (s *survey) silent(ctx context.Context) (found []args, err error) {
	routed, err := s.routed(ctx)
	if err != nil || s.senders.Problem != nil {
		return nil, err
	}
	var asking sync.WaitGroup
	for _, c := range routed {
		if c.off+c.wrong != "" {
			continue
		}
		for _, server := range s.senders.Wired[c.name].Servers() {
			a := args{"channel": string(c.name), "host": hostOf(server)}
			found = append(found, a)
			asking.Go(func() { a["why"] = ask(ctx, server) })
		}
	}
	asking.Wait()
	return slices.DeleteFunc(found, func(a args) bool { return a["why"] == "" }), nil
}

const untrustedCertificate = "this machine does not trust its certificate"

// ask returns the reason why a provider's server does not answer; empty: it answers. Any status is an
// answer.
func ask(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	if server, err := url.Parse(address); err == nil && strings.HasPrefix(server.Scheme, "smtp") {
		return greet(ctx, server)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, address, http.NoBody)
	if err != nil {
		return "the setting is no URL"
	}
	wire := channel.NewTransport(1)
	defer wire.CloseIdleConnections()
	exchange := channel.NewExchange(wire)
	response, err := exchange.Client().Do(request)
	if err == nil {
		_ = response.Body.Close() // the body is in memory
	}
	switch {
	case exchange.Status != 0:
		return ""
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return untrustedCertificate
	default:
		return cmp.Or(exchange.Failure(ctx, "").Code, "no answer")
	}
}

// hostOf returns the host of a URL, without the path.
func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return strings.ToLower(u.Host)
	}
	return ""
}

// flawOf returns a function that returns why Herald sends nothing to a webhook; empty: it sends. The
// function is nil if the channel has no such rule, or if this process does not serve the channel.
func (s Senders) flawOf(name notification.Channel) func(webhook string) string {
	settings, judges := s.Wired[name].All[0].Settings.(interface{ Flaw(webhook string) string })
	if !judges || !slices.Contains(s.Channels, name) || s.Problem != nil {
		return nil
	}
	return settings.Flaw
}

// greet returns the reason why a mail server does not answer EHLO; empty: it answers.
func greet(ctx context.Context, server *url.URL) string {
	dial := new(net.Dialer).DialContext
	if server.Scheme == "smtps" {
		dial = new(tls.Dialer).DialContext
	}
	conn, err := dial(ctx, "tcp", server.Host)
	switch {
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return untrustedCertificate
	case err != nil:
		return "no connection"
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	client, err := smtp.NewClient(conn, server.Hostname())
	if err != nil || client.Hello("localhost") != nil {
		return "no answer to EHLO"
	}
	return ""
}
