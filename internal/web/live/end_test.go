package live_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/web/live"
	"herald/internal/web/signin"
)

func TestExpires(t *testing.T) {
	t.Parallel()

	g := newSystem(t).gateway(options{withoutMessages: true})
	tab := g.dial(signin.Identity{RecipientKey: ada, Expires: time.Now().Add(200 * time.Millisecond)})
	go tab.read()
	tab.ends(4001, "expired")
	require.Equal(t, 1, g.metric("herald_gateway_cut_offs", live.CauseLabel, "expired"))
}

func TestDeactivated(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{withoutMessages: true, times: live.Times{Activity: 20 * time.Millisecond}})
	tabs := []*tab{g.open(ada), g.open(ada)}
	other := g.open(grace)

	s.exec("UPDATE recipient SET active = false WHERE user_type = 'CUSTOMER'")

	for _, tab := range tabs {
		tab.ends(4001, "deactivated")
	}
	other.say(`{"type":"after"}`)
	id := s.record(grace, "evt-1")
	other.awaits(id)
}

func TestDrain(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{})
	tabs := []*tab{g.open(ada), g.open(grace)}
	id := s.send(ada, "evt-1")
	tabs[0].awaits(id)
	tabs[0].say(`{"type":"ack","id":%d}`, id)

	require.NoError(t, g.hub.Drain(t.Context()))

	for _, tab := range tabs {
		tab.ends(websocket.StatusServiceRestart, "restarting")
	}
	_, answer, err := g.try(signin.Identity{RecipientKey: ada, Expires: time.Now().Add(time.Hour)}, nil)
	require.Error(t, err)
	require.Equal(t, 503, answer.StatusCode)
}

// A client that does not answer the close handshake delays a drain by at most times.goodbye.
func TestDrainOfSilentClients(t *testing.T) {
	t.Parallel()

	g := newSystem(t).gateway(options{withoutMessages: true, times: live.Times{Goodbye: 50 * time.Millisecond}})
	for range 5 {
		g.dial(signin.Identity{RecipientKey: ada, Expires: time.Now().Add(time.Hour)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, g.hub.Drain(ctx))
	require.NoError(t, ctx.Err())
}

// The socket ends with the right code after each kind of forbidden data.
func TestProtocol(t *testing.T) {
	t.Parallel()

	g := newSystem(t).gateway(options{withoutMessages: true, times: live.Times{Frame: 100 * time.Millisecond}})
	padded := func(size int) []byte {
		return []byte(`{"type":"after","x":"` + strings.Repeat("x", size-len(`{"type":"after","x":""}`)) + `"}`)
	}
	tests := []struct {
		name  string
		send  [][]byte // frames as bytes on the wire
		code  websocket.StatusCode
		cause string // empty: the library closed the socket before the hub could send the cause
	}{
		{name: "too large", send: [][]byte{wire(opText, true, padded(4097))}, code: websocket.StatusMessageTooBig, cause: "too_large"},
		{name: "too large, in small parts", send: parts(padded(4097), 100), code: websocket.StatusMessageTooBig, cause: "too_large"},
		{name: "announced as huge", send: [][]byte{announce(opText, 1<<40), padded(5000)}, code: websocket.StatusMessageTooBig,
			cause: "too_large"},
		{name: "never ends", send: [][]byte{wire(opText, false, []byte(`{"type"`))}, code: 4008, cause: "slow"},
		{name: "nothing, in parts that never end", send: [][]byte{wire(opText, false, nil), wire(0, false, nil), wire(0, false, nil)},
			code: 4008, cause: "slow"},
		{name: "binary", send: [][]byte{wire(opBinary, true, []byte(`{"type":"after"}`))}, code: websocket.StatusProtocolError,
			cause: "protocol"},
		{name: "no JSON", send: [][]byte{wire(opText, true, []byte(`after`))}, code: websocket.StatusProtocolError, cause: "protocol"},
		{name: "an unknown type", send: [][]byte{wire(opText, true, []byte(`{"type":"read","id":1}`))}, code: websocket.StatusProtocolError,
			cause: "protocol"},
		{name: "an acknowledgement of nothing", send: [][]byte{wire(opText, true, []byte(`{"type":"ack"}`))},
			code: websocket.StatusProtocolError, cause: "protocol"},
		{name: "an id that is no number", send: [][]byte{wire(opText, true, []byte(`{"type":"ack","id":"x"}`))},
			code: websocket.StatusProtocolError, cause: "protocol"},
		{name: "an id below 1", send: [][]byte{wire(opText, true, []byte(`{"type":"after","id":0}`))}, code: websocket.StatusProtocolError,
			cause: "protocol"},
		{name: "a reserved bit", send: [][]byte{append([]byte{0xC1}, wire(opText, true, []byte(`{}`))[1:]...)},
			code: websocket.StatusProtocolError},
		{name: "a ping in parts", send: [][]byte{wire(opPing, false, nil)}, code: websocket.StatusProtocolError},
		{name: "not masked", send: [][]byte{{0x81, 2, '{', '}'}}, code: websocket.StatusProtocolError, cause: "protocol"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			tab, raw := g.dialRaw(t)
			go tab.read()
			for _, frame := range tt.send {
				_, err := raw.Write(frame)
				require.NoError(t, err)
			}
			if tt.cause != "" {
				tab.ends(tt.code, tt.cause)
				return
			}
			<-tab.ended
			require.Equal(t, tt.code, websocket.CloseStatus(tab.err), "%v", tab.err)
		})
	}
}

// Fragmented messages with a ping between the fragments are allowed.
func TestFragments(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{withoutMessages: true})
	ids := s.records(ada, 3)
	tab, raw := g.dialRaw(t)
	go tab.read()
	body := fmt.Appendf(nil, `{"type":"after","id":%d}`, ids[0])
	for i, part := range parts(body, 5) {
		if i == 1 {
			part = append(wire(opPing, true, []byte("in between")), part...)
		}
		_, err := raw.Write(part)
		require.NoError(t, err)
	}
	tab.awaits(ids[1:]...)
}

// The hub cuts off a client that does not read. No other client waits for it.
func TestClientThatNeverReads(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{times: live.Times{Write: 200 * time.Millisecond, Goodbye: 200 * time.Millisecond}})
	g.dial(signin.Identity{RecipientKey: ada, Expires: time.Now().Add(time.Hour)})
	reader := g.open(grace)
	g.flood(ada)
	require.Eventually(t, func() bool { return g.metric("herald_gateway_cut_offs", live.CauseLabel, "slow") == 1 }, patience, interval)
	reader.awaits(s.send(grace, "evt-1"))
	_, open, err := g.try(signin.Identity{RecipientKey: ada, Expires: time.Now().Add(time.Hour)}, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, open.StatusCode)
}

// The hub cuts off a client that reads a page too slowly, because others wait for the memory.
func TestReadsAPageTooSlowly(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.records(ada, 30)
	s.exec("UPDATE notification SET body = repeat('<', 65536)")
	g := s.gateway(options{times: live.Times{Page: 200 * time.Millisecond, Write: time.Hour, Goodbye: 200 * time.Millisecond}})
	g.dial(signin.Identity{RecipientKey: ada, Expires: time.Now().Add(time.Hour)}).say(`{"type":"after"}`)
	require.Eventually(t, func() bool { return g.metric("herald_gateway_cut_offs", live.CauseLabel, "slow") == 1 }, patience, interval)
	require.Eventually(t, func() bool { return g.hub.HeldBytes() == 0 }, patience, interval)
}

// A client that reads too slowly gets the cause when the socket closes.
func TestTooSlow(t *testing.T) {
	t.Parallel()

	g := newSystem(t).gateway(options{withoutMessages: true, times: live.Times{Write: patience, Goodbye: patience}})
	tab := g.dial(signin.Identity{RecipientKey: ada, Expires: time.Now().Add(time.Hour)})
	g.flood(ada)
	require.Equal(t, 1, g.metric("herald_gateway_cut_offs", live.CauseLabel, "slow"))
	go tab.read()
	tab.ends(4008, "slow")
}

// flood delivers more messages to a recipient than the buffers of both ends can hold.
func (g *process) flood(who notification.RecipientKey) {
	m := notification.Message{UserType: who.UserType, UserID: who.UserID, Body: strings.Repeat("x", 60_000)}
	for i := range 300 {
		m.NotificationID = int64(1_000_000 + i)
		body, err := json.Marshal(m.Frame())
		require.NoError(g.t, err)
		g.hub.Deliver("notification.websocket.customer", body)
	}
}

// The hub cuts off a client that does not answer pings.
func TestSilent(t *testing.T) {
	t.Parallel()

	g := newSystem(t).gateway(options{
		withoutMessages: true, times: live.Times{Ping: 20 * time.Millisecond, Pong: 50 * time.Millisecond, Goodbye: 50 * time.Millisecond},
	})
	answers := g.open(ada)
	g.dial(signin.Identity{RecipientKey: ada, Expires: time.Now().Add(time.Hour)}) // reads nothing, so it answers no ping
	require.Eventually(t, func() bool { return g.metric("herald_gateway_cut_offs", live.CauseLabel, "silent") == 1 }, patience, interval)
	select {
	case <-answers.ended:
		require.Fail(t, "a client that answers pings was cut off")
	default:
	}
}

// dialRaw opens a socket and returns its TCP connection too, to send bytes that no library sends.
func (g *process) dialRaw(t *testing.T) (*tab, net.Conn) {
	t.Helper()
	var raw net.Conn
	dialer := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		var err error
		raw, err = new(net.Dialer).DialContext(ctx, network, address)
		return raw, err
	}}
	tab := g.dialWith(signin.Identity{RecipientKey: ada, Expires: time.Now().Add(time.Hour)}, &http.Client{Transport: dialer})
	tab.t = t
	return tab, raw
}

const (
	opText   = 1
	opBinary = 2
	opPing   = 9
)

// wire returns a client's frame, masked with zeros.
func wire(op byte, final bool, payload []byte) []byte {
	return append(header(op, final, len(payload)), payload...)
}

func header(op byte, final bool, size int) []byte {
	first := op
	if final {
		first |= 0x80
	}
	switch {
	case size < 126:
		return []byte{first, 0x80 | byte(size), 0, 0, 0, 0}
	case size < 1<<16:
		return append(binary.BigEndian.AppendUint16([]byte{first, 0x80 | 126}, uint16(size)), 0, 0, 0, 0)
	default:
		return append(binary.BigEndian.AppendUint64([]byte{first, 0x80 | 127}, uint64(size)), 0, 0, 0, 0)
	}
}

// announce returns the header of a large frame.
func announce(op byte, size int) []byte { return header(op, true, size) }

// parts returns a text message in fragments of up to size bytes.
func parts(body []byte, size int) [][]byte {
	var frames [][]byte
	for op := byte(opText); len(body) > 0; op = 0 {
		n := min(size, len(body))
		frames = append(frames, wire(op, n == len(body), body[:n]))
		body = body[n:]
	}
	return frames
}
