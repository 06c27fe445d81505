package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"herald/internal/notification"
)

// refusals are the brokers' words that judge a record or its topic, and whether the same
// record can never be taken. The other words tell of the broker's own state.
var refusals = map[*kerr.Error]bool{
	kerr.MessageTooLarge:             true,
	kerr.RecordListTooLarge:          true,
	kerr.InvalidRecord:               true, // such as one without a key, in a compacted topic
	kerr.InvalidTimestamp:            true,
	kerr.InvalidTopicException:       true,
	kerr.UnsupportedForMessageFormat: true,
	kerr.UnknownTopicOrPartition:     false,
	kerr.UnknownTopicID:              false,
	kerr.TopicAuthorizationFailed:    false,
	kerr.ClusterAuthorizationFailed:  false,
	kerr.PolicyViolation:             false,
	kerr.CorruptMessage:              false,
}

// failure is [classify] with the reason why no broker can be connected to, where the client
// itself only says that it waited.
func (p *Producer) failure(topic string, err error) error {
	err = classify(topic, err)
	var waited *notification.SinkUnavailableError
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
	permanent, refused := refusals[word]
	if refused || !word.Retriable && !ofTheConnection(word) {
		return &notification.SinkRefusedError{Topic: topic, Code: word.Message, Permanent: permanent}
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
	return &notification.SinkUnavailableError{Sink: "kafka", Err: err}
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
