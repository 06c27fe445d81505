// Package kafka produces records so that a nil error is a promise: all in-sync replicas
// have the record. Any other end says whether the record waits or was refused.
package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"golang.org/x/sync/semaphore"
)

// Bounds of one process.
const (
	maxOpen      = 1000     // records that no broker has answered for yet
	maxOpenBytes = 32 << 20 // of their keys, values and headers
	// maxBatchBytes is what brokers take where nobody has set max.message.bytes. It is
	// compared before compression.
	maxBatchBytes = 1<<20 + 12
	dialTimeout   = 5 * time.Second
	// A topic that is not there is asked for once more: the first answer may come from a
	// broker that has not heard of it yet.
	topicRetries  = 1
	topicInterval = 250 * time.Millisecond
)

// Producer is a client of the brokers, for any number of goroutines. It finds brokers that
// come back by itself.
type Producer struct {
	client *kgo.Client
	// open is held by each record until its end. A record that must be alone in its batch
	// holds all of it.
	open *semaphore.Weighted
	dial dial

	batches  *kgo.Client // sends nothing before it is told to
	flushing sync.Mutex
	taken    map[string]bool // topics that have taken a record of batches; under flushing
}

// New returns a producer, and connects when the first record is produced. A broker that is
// down is no error. The settings must have a broker.
func New(s Settings) (*Producer, error) {
	p := &Producer{open: semaphore.NewWeighted(maxOpen), taken: map[string]bool{}}
	options := []kgo.Opt{
		kgo.SeedBrokers(s.Brokers...),
		kgo.ClientID(s.ClientID),
		kgo.DialTimeout(dialTimeout),
		kgo.WithHooks(&p.dial),
		kgo.RequiredAcks(kgo.AllISRAcks()), // and idempotent, the client's default
		// A record ends with its context. If the broker has it already, and its answer was
		// lost, the next attempt repeats it.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.MaxBufferedRecords(maxOpen),
		kgo.MaxBufferedBytes(maxOpenBytes),
		kgo.ProducerBatchMaxBytes(maxBatchBytes),
		kgo.UnknownTopicRetries(topicRetries),
		kgo.MetadataMinAge(topicInterval),
	}
	if s.TLS {
		options = append(options, kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if mechanism := s.mechanism(); mechanism != nil {
		options = append(options, kgo.SASL(mechanism))
	}
	var err error
	if p.client, err = kgo.NewClient(options...); err == nil {
		p.batches, err = kgo.NewClient(append(options, kgo.ManualFlushing())...)
	}
	if err != nil {
		return nil, errors.New("the settings of Kafka are refused by its client") // err would quote them
	}
	return p, nil
}

// mechanism is nil where we do not say who we are.
func (s *Settings) mechanism() sasl.Mechanism {
	scrammed := scram.Auth{User: s.Username, Pass: string(s.Password)}
	switch s.Mechanism {
	case "PLAIN":
		return plain.Auth{User: s.Username, Pass: string(s.Password)}.AsMechanism()
	case "SCRAM-SHA-256":
		return scrammed.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scrammed.AsSha512Mechanism()
	default:
		return nil
	}
}

// Ready returns nil if a broker answers, and knows us, or else a
// notification.SinkUnavailableError.
func (p *Producer) Ready(ctx context.Context) error {
	return p.failure("", p.client.Ping(ctx))
}

// Close lets the records under way end, until ctx does, and then closes the connections.
func (p *Producer) Close(ctx context.Context) {
	_ = p.client.Flush(ctx) // those that did not end are produced again by the next worker
	p.client.Close()
	p.batches.Close()
}
