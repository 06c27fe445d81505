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

	"herald/internal/relay"
)

// verdicts maps broker errors about a record or its topic. Other errors are about the broker
// itself.
var verdicts = map[*kerr.Error]relay.Verdict{
	kerr.MessageTooLarge:             relay.FailRecord,
	kerr.RecordListTooLarge:          relay.FailRecord,
	kerr.InvalidRecord:               relay.FailRecord, // such as a record without a key in a compacted topic
	kerr.InvalidTimestamp:            relay.FailRecord,
	kerr.InvalidTopicException:       relay.FailRecord,
	kerr.UnsupportedForMessageFormat: relay.FailRecord,
	kerr.UnknownTopicOrPartition:     relay.BackOffTopic,
	kerr.UnknownTopicID:              relay.BackOffTopic,
	kerr.TopicAuthorizationFailed:    relay.BackOffTopic,
	kerr.ClusterAuthorizationFailed:  relay.BackOffTopic,
	kerr.PolicyViolation:             relay.RetryRecord,
	kerr.CorruptMessage:              relay.RetryRecord,
}

// failure is [classify] plus the reason of a failed connection, if the client reports only that it
// waited.
func (p *Producer) failure(topic string, err error) error {
	err = classify(topic, err)
	var waited *relay.UnavailableError
	if why := p.dial.failed.Load(); why != nil && errors.As(err, &waited) && (waited.Err == errNoAnswer || waited.Err == errLost) {
		return unavailable(*why)
	}
	return err
}

// dial stores the result of the last connection attempt.
type dial struct {
	failed atomic.Pointer[error] // nil: success
}

var _ kgo.HookBrokerConnect = (*dial)(nil)

// OnBrokerConnect implements [kgo.HookBrokerConnect].
func (d *dial) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err == nil {
		d.failed.Store(nil)
		return
	}
	if err = cause(err); err != errCancelled {
		d.failed.Store(&err)
	}
}

// classify converts a client error into an error for the record. An unlisted broker error is a
// refusal if the client would not retry it either.
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
		return &relay.RefusedError{Topic: topic, Code: word.Message, Verdict: cmp.Or(verdict, relay.RetryRecord)}
	}
	return unavailable(errors.New(word.Message))
}

// ofTheConnection reports whether the broker rejected the connection, and so judged no record.
func ofTheConnection(word *kerr.Error) bool {
	switch word {
	case kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.SecurityDisabled, kerr.UnsupportedVersion:
		return true
	default:
		return false
	}
}

func unavailable(err error) error {
	return &relay.UnavailableError{Err: err}
}

// Causes without a clear text, or with an address in their text.
var (
	errNoAnswer  = errors.New("no answer in time")
	errCancelled = errors.New("cancelled")
	errClosed    = errors.New("closed")
	errNoHost    = errors.New("the host is not known")
	errNotTLS    = errors.New("the broker's certificate is not trusted, or the broker does not use TLS")
	errLost      = errors.New("the broker ended the connection; if that repeats, correct KAFKA_TLS or the credentials")
)

// cause returns the reason without an address.
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
