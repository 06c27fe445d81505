package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"herald/internal/outboxes"
)

// verdicts are the brokers' words that judge a record or its topic. The other words tell of
// the broker's own state.
var verdicts = map[*kerr.Error]outboxes.Verdict{
	kerr.MessageTooLarge:             outboxes.FailRecord,
	kerr.RecordListTooLarge:          outboxes.FailRecord,
	kerr.InvalidRecord:               outboxes.FailRecord, // such as one without a key, in a compacted topic
	kerr.InvalidTimestamp:            outboxes.FailRecord,
	kerr.InvalidTopicException:       outboxes.FailRecord,
	kerr.UnsupportedForMessageFormat: outboxes.FailRecord,
	kerr.UnknownTopicOrPartition:     outboxes.RestTopic,
	kerr.UnknownTopicID:              outboxes.RestTopic,
	kerr.TopicAuthorizationFailed:    outboxes.RestTopic,
	kerr.ClusterAuthorizationFailed:  outboxes.RestTopic,
	kerr.PolicyViolation:             outboxes.RetryRecord,
	kerr.CorruptMessage:              outboxes.RetryRecord,
}

// failure is [classify] with the reason why no broker can be connected to, where the client
// itself only says that it waited.
func (p *Producer) failure(topic string, err error) error {
	err = classify(topic, err)
	var waited *outboxes.UnavailableError
	if why := p.dial.failed.Load(); why != nil && errors.As(err, &waited) && (waited.Err == errNoAnswer || waited.Err == errLost) {
		return unavailable(*why)
	}
	return err
}

// dial remembers how the last attempt to connect ended.
type dial struct {
	failed atomic.Pointer[error] // nil: it did not fail
}

var _ kgo.HookBrokerConnect = (*dial)(nil)

// OnBrokerConnect is called by the client.
func (d *dial) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err == nil {
		d.failed.Store(nil)
		return
	}
	if err = cause(err); err != errCancelled {
		d.failed.Store(&err)
	}
}

// classify says what an end of the client's means for the record. A word of a broker's
// that is in no table is a refusal if the client would not try again either.
func classify(topic string, err error) error {
	if err == nil {
		return nil
	}
	var word *kerr.Error
	if !errors.As(err, &word) {
		return unavailable(cause(err))
	}
	verdict, judged := verdicts[word]
	if judged || !word.Retriable && !ofTheConnection(word) {
		return &outboxes.RefusedError{Topic: topic, Code: word.Message, Verdict: cmp.Or(verdict, outboxes.RetryRecord)}
	}
	return unavailable(errors.New(word.Message))
}

// ofTheConnection are words of a broker that does not know us: no record was judged.
func ofTheConnection(word *kerr.Error) bool {
	switch word {
	case kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.SecurityDisabled, kerr.UnsupportedVersion:
		return true
	default:
		return false
	}
}

func unavailable(err error) error {
	return &outboxes.UnavailableError{Err: err}
}

// The causes that have no word of their own, or whose own words hold an address.
var (
	errNoAnswer  = errors.New("no answer in time")
	errCancelled = errors.New("cancelled")
	errClosed    = errors.New("closed")
	errNoHost    = errors.New("the host is not known")
	errNotTLS    = errors.New("the broker's certificate is not trusted, or it speaks no TLS")
	errLost      = errors.New("the broker ended the connection; if it always does, KAFKA_TLS or the credentials are not what it wants")
)

// cause is the reason without the address.
func cause(err error) error {
	var system *os.SyscallError
	var host *net.DNSError
	var certificate *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return errCancelled
	case errors.Is(err, kgo.ErrClientClosed):
		return errClosed
	case errors.As(err, &certificate), errors.As(err, &noTLS):
		return errNotTLS
	case errors.As(err, &host):
		return errNoHost
	case errors.As(err, &system):
		return system.Err // such as connection refused
	case errors.As(err, &timeout) && timeout.Timeout():
		return errNoAnswer
	default:
		return errLost
	}
}
