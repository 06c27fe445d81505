package channeltest

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/notification"
)

// Connect returns a sender whose provider is at baseURL. timeout limits one Send.
type Connect func(t *testing.T, baseURL string, timeout time.Duration) channel.Sender

// HTTP describes a provider that speaks HTTP.
type HTTP struct {
	// Address gives the nth message a unique address. A push message gets one device.
	Address func(msg *notification.Message, n int, baseURL string)
	// Success is the provider's answer to a valid request. The receipt must contain ProviderID.
	Success    Answer
	ProviderID string
	// EmptySuccess reports whether a success has no body. Then no other 2xx is a success.
	EmptySuccess bool
	// AnySuccess reports whether every 2xx is a success, whatever its body.
	AnySuccess bool
	// Exceptions are the statuses that [notification.ClassOf] classifies wrongly for this
	// provider.
	Exceptions map[int]notification.FailureClass
	// Secrets are the sender's keys and tokens.
	Secrets []string
	// Arrival reads a request's body. Nil: the sandbox speaks for the provider.
	Arrival func(body string) Arrival
}

// Run tests a sender against the sandbox, or against a server that accepts each message. It also tests
// the answers in p, and bad answers. It calls t.Parallel.
func Run(t *testing.T, newSender Connect, p HTTP) {
	t.Helper()
	t.Parallel()

	suite := suite{newSender, p}
	if p.Arrival == nil {
		RunBasics(t, suite.connectSandbox)
	} else {
		RunBasics(t, suite.connectTaker)
	}
	tests := map[string]func(*testing.T){
		"receipt":                           suite.testReceipt,
		"time of the call":                  suite.testTook,
		"every status":                      suite.testEveryStatus,
		"retry after":                       suite.testRetryAfter,
		"useless answers":                   suite.testUselessAnswers,
		"connections are kept":              suite.testConnectionsAreKept,
		"truncated answer":                  suite.testTruncated,
		"deadline of the context":           suite.testDeadline,
		"timeout of the sender":             suite.testTimeout,
		"deadline in the middle of answers": suite.testDeadlineInAnswer,
		"cancelled during":                  suite.testCancelledDuring,
		"cut before the request is read":    suite.testCutBefore,
		"cut after the request was read":    suite.testCutAfter,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// suite runs the HTTP tests for one sender.
type suite struct {
	newSender Connect
	p         HTTP
}

func (s suite) connect(t *testing.T, answer handler) (*server, Link) {
	t.Helper()
	far := serve(t, answer)
	return far, s.link(t, far.Listener.Addr())
}

func (s suite) testReceipt(t *testing.T) {
	_, link := s.connect(t, always(s.p.Success))
	receipt, err := link.Sender.Send(t.Context(), link.Message(1))
	require.NoError(t, err)
	require.Equal(t, s.p.ProviderID, receipt.ProviderID)
	require.Equal(t, s.p.Success.Status, receipt.Status)
	require.Empty(t, receipt.DeadDevices)
}

// testTook uses a slow provider, for a success and for a refusal.
func (s suite) testTook(t *testing.T) {
	const slow = 100 * time.Millisecond
	for _, answer := range []Answer{s.p.Success, {Status: http.StatusBadRequest}} {
		_, link := s.connect(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
			time.Sleep(slow) // the provider's delay
			answer.write(w)
		})
		began := time.Now()
		receipt, _ := link.Sender.Send(t.Context(), link.Message(1)) // other tests check the error
		require.GreaterOrEqual(t, receipt.Took, slow, "status %d", answer.Status)
		require.LessOrEqual(t, receipt.Took, time.Since(began), "status %d", answer.Status)
	}
}
