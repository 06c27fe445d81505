// Package kafka produces records. A nil error guarantees that all in-sync replicas have the
// record. Any other error tells whether the record waits or was refused.
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
)

// Limits of one flush.
const (
	maxOpen      = 1000     // records
	maxOpenBytes = 32 << 20 // keys, values and headers
	// maxBatchBytes is the brokers' default for max.message.bytes. It applies before compression.
	maxBatchBytes = 1<<20 + 12
	dialTimeout   = 5 * time.Second
	// A missing topic is looked up once more: the first broker may not know it yet.
	topicRetries  = 1
	topicInterval = 250 * time.Millisecond
	// A partition without a leader is retried every topicInterval, for about two seconds. The
	// rest of its flush waits.
	recordRetries = 8
)

// Producer is a client of the brokers. It is safe for concurrent use, and reconnects by itself.
type Producer struct {
	options []kgo.Opt
	client  *kgo.Client // only checks that brokers answer; produces nothing
	dial    dial

	mu     sync.Mutex
	closed bool
	idle   []*kgo.Client  // clients of finished flushes: concurrent flushes share no client, and so no batches
	calls  sync.WaitGroup // running calls of ProduceAll

	taken sync.Map // topics that accepted a record
}

// errSettings replaces the client's error, which would quote the settings.
var errSettings = errors.New("the Kafka client refuses the settings: check KAFKA_*")

// New returns a producer, which connects when it produces the first record. A broker that is down
// is no error. The settings must name a broker.
func New(s Settings) (*Producer, error) {
	p := &Producer{}
	p.options = []kgo.Opt{
		kgo.SeedBrokers(s.Brokers...),
		kgo.ClientID(s.ClientID),
		kgo.DialTimeout(dialTimeout),
		kgo.WithHooks(&p.dial),
		kgo.RequiredAcks(kgo.AllISRAcks()), // idempotent by the client's default
		// A record ends with its context. If the broker has it but the answer was lost, the next
		// attempt repeats it.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.MaxBufferedRecords(maxOpen),
		kgo.MaxBufferedBytes(maxOpenBytes),
		kgo.ProducerBatchMaxBytes(maxBatchBytes),
		kgo.UnknownTopicRetries(topicRetries),
		kgo.RecordRetries(recordRetries),
		kgo.MetadataMinAge(topicInterval),
		kgo.ManualFlushing(),
	}
	if s.TLS {
		p.options = append(p.options, kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if mechanism := s.mechanism(); mechanism != nil {
		p.options = append(p.options, kgo.SASL(mechanism))
	}
	var err error
	if p.client, err = kgo.NewClient(p.options...); err != nil {
		return nil, errSettings
	}
	return p, nil
}

// mechanism returns nil without credentials.
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

// Ready returns nil if a broker answers and accepts our credentials. Otherwise it returns an
// [relay.UnavailableError].
func (p *Producer) Ready(ctx context.Context) error {
	return p.failure("", p.client.Ping(ctx))
}

// Close waits for running flushes until ctx ends, then closes the connections. The next worker
// repeats unfinished records.
func (p *Producer) Close(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		p.calls.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	p.client.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, client := range p.idle {
		client.Close()
	}
	p.idle = nil
}

// take returns a client for one call of [Producer.ProduceAll], and a function to give it back.
func (p *Producer) take() (client *kgo.Client, give func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errClosed
	}
	if last := len(p.idle) - 1; last >= 0 {
		client, p.idle = p.idle[last], p.idle[:last]
	} else if client, err = kgo.NewClient(p.options...); err != nil {
		return nil, nil, errSettings
	}
	p.calls.Add(1)
	return client, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.calls.Done(); p.closed {
			client.Close()
			return
		}
		p.idle = append(p.idle, client)
	}, nil
}
