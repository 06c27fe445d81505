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
	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/report"
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

// routed returns the channels that have a routing row and that the process serves, with the event
// types of each.
func (s Senders) routed(ctx context.Context, reader report.Reader) (map[notification.Channel][]string, error) {
	routes, err := reader.Routes(ctx)
	types := map[notification.Channel][]string{}
	for _, route := range routes {
		if slices.Contains(s.Channels, route.Channel) && s.Wired[route.Channel] != nil {
			types[route.Channel] = append(types[route.Channel], route.EventType)
		}
	}
	return types, err
}

// channelsOf checks that each routed channel serves some user type and has its credentials.
func channelsOf(db *db.DB, s Senders) Subject {
	reader := report.Reader{Pool: db.Pool}
	return Subject{"channels", func(ctx context.Context) ([]Mistake, error) {
		var mistakes []Mistake
		if s.Problem != nil {
			mistakes = append(mistakes, Mistake{Place: "settings", Problem: s.Problem.Error(), Remedy: "correct them in the environment; docs/reference.md lists them"})
		}
		routed, err := s.routed(ctx, reader)
		if err != nil {
			return mistakes, err
		}
		serving, err := reader.ServingChannels(ctx)
		if err != nil {
			return mistakes, err
		}
		for _, name := range s.Channels {
			types := routed[name]
			if len(types) == 0 {
				continue
			}
			if !slices.Contains(serving, name) {
				mistakes = append(mistakes, Mistake{Place: "channel_user_type", Row: string(name), Problem: fmt.Sprintf("%s are routed over it, but it serves no user type: every delivery is UNSUPPORTED", some(types)),
					Remedy: "insert a row for each user type that it may serve"})
			}
			mistakes = append(mistakes, s.unset(name, types)...)
		}
		return mistakes, nil
	}}
}

// unset returns the setting that a channel lacks.
func (s Senders) unset(name notification.Channel, types []string) []Mistake {
	_, err := s.sender(name)
	var off *channel.OffError
	switch {
	case err == nil, s.Problem != nil:
		return nil
	case errors.As(err, &off):
		return []Mistake{{Place: "settings of " + string(name), Problem: fmt.Sprintf("%v, so the channel is off; %s are routed over it: these deliveries fail with ChannelNotConfigured", err, some(types)),
			Remedy: "set what is missing where the worker runs, and here; or delete the rows of " + routingRules + " for " + string(name)}}
	default:
		return []Mistake{{Place: "settings of " + string(name), Problem: err.Error(), Remedy: "correct them where the worker runs, and here"}}
	}
}

// sender creates a sender as the worker does. It connects to no server and sends nothing.
func (s Senders) sender(name notification.Channel) (channel.Sender, error) {
	return s.Wired[name].NewSender(channel.Process{Timeout: serverTimeout, Slots: 1}, wiring.Limits{})
}

// some returns "events of type ORDER_PAID", or "events of type ORDER_PAID and 3 more".
func some(types []string) string {
	if len(types) == 1 {
		return "events of type " + types[0]
	}
	return fmt.Sprintf("events of type %s and %d more", types[0], len(types)-1)
}

// serverTimeout bounds the wait for one server.
const serverTimeout = 5 * time.Second

// providersOf checks that the providers of the routed channels answer. It sends a HEAD request
// or EHLO, without credentials, and no message.
func providersOf(db *db.DB, s Senders) Subject {
	return Subject{"providers", func(ctx context.Context) ([]Mistake, error) {
		routed, err := s.routed(ctx, report.Reader{Pool: db.Pool})
		if err != nil || s.Problem != nil {
			return nil, err
		}
		var asked []provider
		for _, name := range s.Channels {
			if _, err := s.sender(name); len(routed[name]) == 0 || err != nil {
				continue
			}
			for _, server := range s.Wired[name].Servers() {
				asked = append(asked, provider{name, server})
			}
		}
		return silent(ctx, asked), nil
	}}
}

// provider is a server that a channel sends to.
type provider struct {
	channel notification.Channel
	url     string
}

// silent asks all providers concurrently, and returns the providers that do not answer.
func silent(ctx context.Context, providers []provider) (mistakes []Mistake) {
	problems := make([]string, len(providers))
	var asking sync.WaitGroup
	for i, p := range providers {
		asking.Go(func() { problems[i] = p.ask(ctx) })
	}
	asking.Wait()
	for i, p := range providers {
		if problems[i] != "" {
			mistakes = append(mistakes, Mistake{Place: "provider of " + string(p.channel), Row: p.host(), Problem: "it does not answer: " + problems[i],
				Remedy: "check the network between the worker and the provider, HTTPS_PROXY, and the setting that names the host"})
		}
	}
	return few(mistakes)
}

const untrustedCertificate = "this machine does not trust its certificate"

// ask returns the reason why the provider does not answer; empty: it answers. Any status is an
// answer.
func (p provider) ask(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	if server, err := url.Parse(p.url); err == nil && strings.HasPrefix(server.Scheme, "smtp") {
		return greet(ctx, server)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, p.url, http.NoBody)
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

// host returns the provider's host, without the path.
func (p provider) host() string {
	if u, err := url.Parse(p.url); err == nil {
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
