package smtp_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"net/mail"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	server "github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/email"
	"herald/internal/channel/email/smtp"
	"herald/internal/config/environment"
	"herald/internal/notification"
	"herald/tools/sandbox"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// newSender returns a sender for a mail server.
func newSender(t *testing.T, url string, timeout time.Duration) channel.Sender {
	t.Helper()
	settings := &smtp.Settings{}
	r := environment.NewReader(map[string]string{"SMTP_URL": url, "EMAIL_FROM": "herald@example.com", "EMAIL_FROM_NAME": "Herald"})
	settings.Read(r)
	require.NoError(t, r.Err())
	return channeltest.NewSender(t, settings, timeout)
}

func message(n int) notification.Message {
	msg := channeltest.Message(n)
	msg.To = fmt.Sprintf("ada%d@example.com", n)
	return msg
}

func TestConformance(t *testing.T) {
	t.Parallel()

	channeltest.RunBasics(t, func(t *testing.T) channeltest.Link {
		ledger := filepath.Join(t.TempDir(), "ledger")
		providers, err := sandbox.New(sandbox.Config{Ledger: ledger})
		require.NoError(t, err)
		listener := listen(t)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- providers.ServeSMTP(ctx, listener) }()
		stop := sync.OnceFunc(func() {
			cancel()
			require.NoError(t, <-served)
		})
		t.Cleanup(func() {
			stop()
			require.NoError(t, providers.Close())
		})
		return channeltest.Link{
			Sender:   newSender(t, "smtp://"+listener.Addr().String(), time.Minute),
			Message:  message,
			Arrivals: func() []channeltest.Arrival { return channeltest.ArrivalsOf(t, ledger, "") },
			Secrets:  []string{listener.Addr().String()},
			Break:    stop,
		}
	})
}

// post is a mail server with planned replies.
type post struct {
	mu    sync.Mutex
	mails []string // the data of each mail that it has read
	auths []string // the mechanisms by which clients signed in
	rcpts []string // the recipients
	conns []net.Conn

	mail, rcpt, data *server.SMTPError // refusals; nil: none
	cut              string            // when it cuts the connection: at rcpt, at data, or after the data
	mechanisms       []string          // of AUTH; nil: nobody signs in
	takesUTF8        bool
}

func refusal(code int, enhanced ...int) *server.SMTPError {
	refused := &server.SMTPError{Code: code, EnhancedCode: server.NoEnhancedCode, Message: "ada1@example.com is not welcome"}
	if len(enhanced) > 0 {
		refused.EnhancedCode = server.EnhancedCode(enhanced)
	}
	return refused
}

type visit struct {
	*post
	conn *server.Conn
}

func (v visit) reply(refused *server.SMTPError, stage string) error {
	if v.cut == stage {
		_ = v.conn.Conn().Close()
	}
	if refused != nil {
		return refused
	}
	return nil
}

func (v visit) Mail(string, *server.MailOptions) error { return v.reply(v.mail, "mail") }
func (v visit) Rcpt(to string, _ *server.RcptOptions) error {
	v.mu.Lock()
	v.rcpts = append(v.rcpts, to)
	v.mu.Unlock()
	return v.reply(v.rcpt, "rcpt")
}
func (visit) Reset()                     {}
func (visit) Logout() error              { return nil }
func (v visit) AuthMechanisms() []string { return v.mechanisms }

func (v visit) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	v.mu.Lock()
	v.mails = append(v.mails, string(text))
	v.mu.Unlock()
	return v.reply(v.data, "after")
}

func (v visit) Auth(mechanism string) (sasl.Server, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.auths = append(v.auths, mechanism)
	judge := func(user, password string) error {
		if user != "herald" || password != "hunter2" {
			return server.ErrAuthFailed
		}
		return nil
	}
	if mechanism == sasl.Login {
		return &login{judge: judge}, nil
	}
	return sasl.NewPlainServer(func(_, user, password string) error { return judge(user, password) }), nil
}

// login is the server's side of AUTH LOGIN.
type login struct {
	judge func(user, password string) error
	said  []string
}

func (l *login) Next(response []byte) (challenge []byte, done bool, err error) {
	if response != nil {
		l.said = append(l.said, string(response))
	}
	switch len(l.said) {
	case 0:
		return []byte("Username:"), false, nil
	case 1:
		return []byte("Password:"), false, nil
	default:
		return nil, true, l.judge(l.said[0], l.said[1])
	}
}

// serve starts the server, and returns its address. With a configuration, it speaks TLS.
func (p *post) serve(t *testing.T, config *tls.Config, implicit bool) string {
	t.Helper()
	far := server.NewServer(server.BackendFunc(func(c *server.Conn) (server.Session, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.conns = append(p.conns, c.Conn())
		return visit{p, c}, nil
	}))
	far.EnableSMTPUTF8 = p.takesUTF8
	far.Domain, far.ErrorLog, far.TLSConfig = "localhost", log.New(io.Discard, "", 0), config
	listener := listen(t)
	address := listener.Addr().String()
	if implicit {
		listener = tls.NewListener(listener, config)
	}
	go func() { _ = far.Serve(listener) }()
	t.Cleanup(func() { _ = far.Close() })
	return address
}

// Replies mean what RFC 5321 and RFC 3463 say. Only a connection lost after the data leaves it open
// whether the server has the mail.
func TestReplies(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name     string
		post     *post
		class    notification.FailureClass
		code     string
		suppress notification.SuppressionReason
		passes   bool // another provider may get the mail
	}{
		{name: "sender busy", post: &post{mail: refusal(451, 4, 3, 0)}, class: notification.Busy, code: "451 4.3.0", passes: true},
		{name: "sender refused", post: &post{mail: refusal(550, 5, 7, 1)}, class: notification.Account, code: "550 5.7.1", passes: true},
		{name: "not signed in", post: &post{rcpt: refusal(530, 5, 7, 0)}, class: notification.Account, code: "530 5.7.0", passes: true},
		{name: "greylisted", post: &post{rcpt: refusal(450, 4, 2, 0)}, class: notification.Busy, code: "450 4.2.0", passes: true},
		{name: "no such mailbox", post: &post{rcpt: refusal(550, 5, 1, 1)}, class: notification.Refused, code: "550 5.1.1",
			suppress: notification.SuppressedInvalid},
		{name: "mailbox full", post: &post{rcpt: refusal(552, 5, 2, 2)}, class: notification.Refused, code: "552 5.2.2"},
		{name: "without an enhanced code", post: &post{rcpt: refusal(550)}, class: notification.Refused, code: "550"},
		{name: "text refused", post: &post{data: refusal(554, 5, 6, 0)}, class: notification.Refused, code: "554 5.6.0"},
		{name: "busy after the data", post: &post{data: refusal(421, 4, 3, 2)}, class: notification.Busy, code: "421 4.3.2", passes: true},
		{name: "cut before the data", post: &post{cut: "rcpt"}, class: notification.Unreachable, code: "connection lost", passes: true},
		{name: "cut after the data", post: &post{cut: "after"}, class: notification.Ambiguous, code: "connection lost"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			sender := newSender(t, "smtp://"+tt.post.serve(t, nil, false), time.Minute)
			msg := message(1)
			_, err := sender.Send(t.Context(), msg)

			failure := channeltest.RequireFailure(t, err, msg, nil)
			require.Equal(t, tt.class, failure.Class)
			require.Equal(t, tt.code, failure.Code)
			require.Equal(t, tt.suppress, failure.Suppress)
			require.Equal(t, tt.passes, failure.Class.PassesOn())
		})
	}
}

// The sender gives up a server that hangs after the time-out. A server that hangs before the data has no
// mail.
func TestTimeout(t *testing.T) {
	t.Parallel()

	listener := listen(t)
	msg := message(1)
	_, err := newSender(t, "smtp://"+listener.Addr().String(), 50*time.Millisecond).Send(t.Context(), msg)
	failure := channeltest.RequireFailure(t, err, msg, nil)
	require.Equal(t, "timeout", failure.Code)
	require.Equal(t, notification.Unreachable, failure.Class)
}

// The sender verifies TLS, before or after the greeting. It never sends the password without TLS.
func TestTLSAndSigningIn(t *testing.T) {
	t.Parallel()

	trusted := httptest.NewUnstartedServer(nil)
	trusted.StartTLS()
	t.Cleanup(trusted.Close)
	config := &tls.Config{Certificates: trusted.TLS.Certificates}
	pool := x509.NewCertPool()
	pool.AddCert(trusted.Certificate())
	tests := []struct {
		name       string
		url        string // %s: the address
		config     *tls.Config
		mechanisms []string
		distrusts  bool
		class      notification.FailureClass // empty: it is sent
		code       string
		auth       string
	}{
		{name: "implicit TLS, PLAIN", url: "smtps://herald:hunter2@%s", config: config, mechanisms: []string{"LOGIN", "PLAIN"}, auth: "PLAIN"},
		{name: "STARTTLS, LOGIN", url: "smtp://herald:hunter2@%s", config: config, mechanisms: []string{"LOGIN"}, auth: "LOGIN"},
		{name: "wrong password", url: "smtps://herald:hunter3@%s", config: config, mechanisms: []string{"PLAIN"}, class: notification.Account,
			code: "535", auth: "PLAIN"},
		{name: "unknown certificate", url: "smtps://%s", config: config, distrusts: true, class: notification.Unreachable,
			code: "untrusted certificate"},
		{name: "unknown certificate after STARTTLS", url: "smtp://%s", config: config, distrusts: true, class: notification.Unreachable,
			code: "untrusted certificate"},
		{name: "no STARTTLS", url: "smtp://herald:hunter2@%s", mechanisms: []string{"PLAIN"}, class: notification.Account, code: "no STARTTLS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			p := &post{mechanisms: tt.mechanisms}
			address := p.serve(t, tt.config, strings.HasPrefix(tt.url, "smtps"))
			sender := newSender(t, fmt.Sprintf(tt.url, address), time.Minute)
			if !tt.distrusts {
				smtp.Trust(sender, pool)
			}
			smtp.Remote(sender)
			msg := message(1)
			_, err := sender.Send(t.Context(), msg)

			p.mu.Lock()
			defer p.mu.Unlock()
			if tt.auth != "" {
				require.Equal(t, []string{tt.auth}, p.auths)
			}
			if tt.class == "" {
				require.NoError(t, err)
				require.Len(t, p.mails, 1)
				return
			}
			failure := channeltest.RequireFailure(t, err, msg, []string{"hunter"})
			require.Equal(t, tt.class, failure.Class)
			require.Equal(t, tt.code, failure.Code)
			require.True(t, failure.Class.PassesOn())
			require.Empty(t, p.mails)
		})
	}
}

// One connection carries many mails. A connection that the server has dropped is replaced, without a
// failed attempt.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()

	p := &post{}
	far := p.serve(t, nil, false)
	sender := newSender(t, "smtp://"+far, time.Minute)
	for n := range 5 {
		_, err := sender.Send(t.Context(), message(n))
		require.NoError(t, err)
	}
	require.Len(t, p.conns, 1)
	require.NoError(t, p.conns[0].Close())
	_, err := sender.Send(t.Context(), message(5))
	require.NoError(t, err)
	require.Len(t, p.conns, 2)
	require.Len(t, p.mails, 6)
}

// The mail has both texts, our address, the delivery id, and the button to unsubscribe.
func TestSendComposes(t *testing.T) {
	t.Parallel()

	p := &post{}
	sender := newSender(t, "smtp://"+p.serve(t, nil, false), time.Minute)
	msg := message(1)
	msg.Title, msg.Body, msg.Name, msg.Optional = "Café, 19:30", "<p>Table for 4 – à bientôt</p>",
		"Ada \"Ace\"\u00a0Löve\r\nBcc: eve@example.com", true
	answer, err := sender.Send(t.Context(), msg)
	require.NoError(t, err)
	again, err := sender.Send(t.Context(), msg)
	require.NoError(t, err)
	require.Equal(t, answer.ProviderID, again.ProviderID, "repeats have the same id")

	read, err := mail.ReadMessage(strings.NewReader(p.mails[0]))
	require.NoError(t, err)
	from, err := read.Header.AddressList("From")
	require.NoError(t, err)
	require.Equal(t, []*mail.Address{{Name: "Herald", Address: "herald@example.com"}}, from)
	to, err := read.Header.AddressList("To")
	require.NoError(t, err)
	require.Equal(t, []*mail.Address{{Name: msg.Name, Address: "ada1@example.com"}}, to)
	require.Equal(t, "<"+answer.ProviderID+">", read.Header.Get("Message-Id"))
	require.Empty(t, read.Header.Get("Bcc"))
	require.Equal(t, msg.DeliveryID, read.Header.Get("X-Herald-Delivery-Id"))
	require.Equal(t, "auto-generated", read.Header.Get("Auto-Submitted"))
	require.Equal(t, "<"+channeltest.UnsubscribeURL(msg)+">", read.Header.Get("List-Unsubscribe"))
	require.Equal(t, "List-Unsubscribe=One-Click", read.Header.Get("List-Unsubscribe-Post"))
	require.Contains(t, p.mails[0], "Content-Type: text/plain")
	require.Contains(t, p.mails[0], "Content-Type: text/html")
}

// The envelope has the address in ASCII, whatever its spelling in the directory. Only a server that takes
// other letters before the @ gets them.
func TestEnvelope(t *testing.T) {
	t.Parallel()

	for _, takesUTF8 := range []bool{false, true} {
		p := &post{takesUTF8: takesUTF8}
		sender := newSender(t, "smtp://"+p.serve(t, nil, false), time.Minute)
		for _, written := range []string{
			" ada@example.com\u00a0", "Anna@Müller.example", "ada.@docomo.example", `"a\"b c"@example.com`, "ada@[192.0.2.1]",
		} {
			msg := message(1)
			msg.To = written
			_, err := sender.Send(t.Context(), msg)
			require.NoError(t, err, written)
		}
		require.Equal(t,
			[]string{"ada@example.com", "Anna@xn--mller-kva.example", "ada.@docomo.example", `a"b c@example.com`, "ada@[192.0.2.1]"}, p.rcpts)
		require.Contains(t, p.mails[1], "<Anna@xn--mller-kva.example>")
		require.Contains(t, p.mails[2], `<"ada."@docomo.example>`)

		msg := message(1)
		msg.To = "jörg@Müller.example"
		_, err := sender.Send(t.Context(), msg)
		if takesUTF8 {
			require.NoError(t, err)
			require.Equal(t, "jörg@xn--mller-kva.example", p.rcpts[5])
			continue
		}
		require.Equal(t, &notification.ProviderError{Provider: "smtp", Class: notification.Refused, Code: email.OnlyASCII, Unasked: true}, err)
		require.Len(t, p.rcpts, 5)
	}
}

// The test of SendGrid covers all flaws of a mail.
func TestSendRefusesLocally(t *testing.T) {
	t.Parallel()

	channeltest.RunRefusals(t, newSender(t, "smtp://127.0.0.1:1", time.Minute), "smtp", message(1), map[string]channeltest.Refusal{
		"line break in the title": {Change: func(m *notification.Message) { m.Title = "a\r\nBcc: eve@example.com" }, Code: "header injection"},
	})
}

func TestSettings(t *testing.T) {
	const form = "must be a URL such as smtps://user:password@host or smtp://host:587, with a user and a password or neither"
	channeltest.RunSettings(t, channeltest.Environment{
		New: func() channeltest.SenderSettings { return &smtp.Settings{} },
		Whole: map[string]string{
			"SMTP_URL": "smtps://herald:hunter2@mail.example.com:465", "EMAIL_FROM": "herald@example.com", "EMAIL_FROM_NAME": "Herald & Co",
		},
		Off:   "SMTP_URL",
		Needs: []string{"SMTP_URL", "EMAIL_FROM"},
		Right: []map[string]string{
			{},
			{"EMAIL_FROM": "herald@example.com"},
			{"SMTP_URL": "smtp://mail.example.com", "EMAIL_FROM": "herald@example.com"},
		},
		Wrong: []channeltest.WrongSetting{
			{Key: "SMTP_URL", Value: "https://hunter2@mail.example.com", Want: form},
			{Key: "SMTP_URL", Value: "mail.example.com:25", Want: form},
			{Key: "SMTP_URL", Value: "smtp://herald@mail.example.com", Want: form},
			{Key: "SMTP_URL", Value: "smtp://mail.example.com/path", Want: form},
			{Key: "EMAIL_FROM", Value: "", Want: "is not set, but SMTP_URL is"},
		},
	})
}
