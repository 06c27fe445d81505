package webhook_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"herald/internal/channel/channeltest"
	"herald/internal/channel/webhook"
	"herald/internal/notification"
)

// With every host allowed, private addresses are still refused.
func TestSendRefusesInnerAddresses(t *testing.T) {
	t.Parallel()

	sender := channeltest.NewSender(t, &webhook.Settings{AllowedHosts: []string{"*", "hooks.localhost"}, Secret: newSecret}, time.Minute)
	refusals := map[string]channeltest.Refusal{}
	for _, host := range []string{
		"10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "127.9.9.9", "localhost", "169.254.169.254", "0.0.0.0", "0.1.2.3", "224.0.0.1",
		"100.64.0.1", "192.0.0.1",
		"198.18.0.1", "240.0.0.1", "255.255.255.255", "[::1]", "[::]", "[fd00::1]", "[fe80::1]", "[fe80::1%25lo]", "[ff02::1]",
		"[::ffff:10.0.0.1]",
		"[64:ff9b::a00:1]", "[2002:a00:1::1]", "[2001::1]", "[::127.0.0.1]",
	} {
		refusals[host] = channeltest.Refusal{Change: func(m *notification.Message) { m.To = "https://" + host + "/x" }, Code: notPublic}
	}
	channeltest.RunRefusals(t, sender, "webhook", channeltest.Message(1), refusals)
}

// DNS rebinding fails: the name has a public address at the first look-up and a private address at each
// later one, and Herald connects to the address that it has checked.
func TestSendRefusesRebinding(t *testing.T) {
	t.Parallel()

	inside, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = inside.Close() })
	var reached atomic.Int64
	go func() {
		for {
			conn, err := inside.Accept()
			if err != nil {
				return // the test has ended
			}
			reached.Add(1)
			_ = conn.Close()
		}
	}()
	_, port, err := net.SplitHostPort(inside.Addr().String())
	require.NoError(t, err)

	const unroutable = "192.0.2.1" // for documents, RFC 5737
	var lookups atomic.Int64
	resolver := &net.Resolver{PreferGo: true, Dial: nameServer(t, func() [4]byte {
		if lookups.Add(1) == 1 {
			return [4]byte{192, 0, 2, 1}
		}
		return [4]byte{127, 0, 0, 1}
	})}
	sender := channeltest.NewSender(t, &webhook.Settings{AllowedHosts: []string{"*"}, Secret: newSecret},
		500*time.Millisecond).(*webhook.Sender)
	sender.UseResolver(resolver)
	msg := channeltest.Message(1)
	msg.To = "https://rebinds.example.com:" + port + "/x"

	_, err = sender.Send(t.Context(), msg)
	failure := channeltest.RequireFailure(t, err, msg, []string{unroutable})
	require.Equal(t, notification.Unreachable, failure.Class, "the checked address was public")
	require.EqualValues(t, 1, lookups.Load())
	_, err = sender.Send(t.Context(), msg)
	failure = channeltest.RequireFailure(t, err, msg, []string{"127.0.0.1"})
	require.Equal(t, &notification.ProviderError{Provider: "webhook", Class: notification.Refused, Code: notPublic, Unasked: true}, failure)
	require.Zero(t, reached.Load())
}

// nameServer starts a name server, and returns the Dial function of a [net.Resolver] for it.
func nameServer(t *testing.T, address func() [4]byte) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	server, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		packet := make([]byte, 4096)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return // the test has ended
			}
			var message dnsmessage.Message
			if message.Unpack(packet[:n]) != nil {
				continue
			}
			question := message.Questions[0]
			answer := dnsmessage.Message{
				Header: dnsmessage.Header{ID: message.ID, Response: true, RecursionAvailable: true}, Questions: message.Questions,
			}
			if question.Type == dnsmessage.TypeA {
				header := dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class, TTL: 0}
				answer.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: address()}}}
			}
			if packed, err := answer.Pack(); err == nil {
				_, _ = server.WriteTo(packed, from)
			}
		}
	}()
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}
}
