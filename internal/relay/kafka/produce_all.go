package kafka

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"herald/internal/relay"
)

const (
	// maxBatch is below the batch limits of the client and of default brokers, in bytes as
	// counted by [size].
	maxBatch = 900 << 10
	// flushTimeout limits one request to each broker.
	flushTimeout = 15 * time.Second
)

// ProduceAll produces records, and returns an error for each: an [relay.RefusedError] or an
// [relay.UnavailableError].
//
// Records of one key are produced in order. After an unacknowledged record, later records of its
// key are not produced. Their error is [relay.ErrKeyHeld].
//
// A broker accepts or refuses a whole batch, and a flush has at most one batch per partition. So
// no record overtakes a refused record of its key.
func (p *Producer) ProduceAll(ctx context.Context, records []relay.Record) []error {
	client, give, err := p.take()
	if err != nil {
		return slices.Repeat([]error{&relay.UnavailableError{Err: err}}, len(records))
	}
	defer give()
	r := flushRun{
		Producer: p, batches: client, records: records,
		errs: slices.Repeat([]error{relay.ErrKeyHeld}, len(records)), held: map[string]bool{},
	}
	for _, flush := range p.flushes(records) {
		if !r.flush(ctx, flush) {
			break
		}
	}
	return r.errs
}

// flushes groups the records' indexes into flushes. Each flush fits one batch, or has a single
// record. A batch has one topic. So a record waits for a later flush if an earlier record of its
// key has another topic. If a topic has accepted nothing yet, later records of a key wait, too: the
// records of a topic that does not exist fail one by one.
func (p *Producer) flushes(records []relay.Record) (flushes [][]int) {
	type place struct {
		topic string
		round int
		first bool
	}
	last := map[string]place{} // by key
	var rounds [][]int
	for i, record := range records {
		at, seen := last[string(record.Key)]
		switch {
		case len(record.Key) == 0:
			at = place{}
		case !seen:
			at = place{record.Topic, 0, true}
		case at.topic != record.Topic:
			at = place{record.Topic, at.round + 1, true}
		case at.first:
			if _, taken := p.taken.Load(record.Topic); !taken {
				at = place{record.Topic, at.round + 1, false}
			}
		}
		last[string(record.Key)] = at
		if at.round == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[at.round] = append(rounds[at.round], i)
	}
	for _, round := range rounds {
		bytes := maxBatch
		for _, i := range round {
			if bytes += size(records[i]); bytes > maxBatch {
				flushes, bytes = append(flushes, nil), size(records[i])
			}
			flushes[len(flushes)-1] = append(flushes[len(flushes)-1], i)
		}
	}
	return flushes
}

// size returns an upper limit of a record's size in a batch.
func size(record relay.Record) int {
	bytes := len(record.Key) + len(record.Value) + 64
	for _, header := range record.Headers {
		bytes += len(header.Name) + len(header.Value) + 16
	}
	return bytes
}

// flushRun is one call of [Producer.ProduceAll].
type flushRun struct {
	*Producer
	batches *kgo.Client
	records []relay.Record
	errs    []error
	held    map[string]bool // keys
}

// flush produces the records whose keys are not held. It reports whether brokers answer. If a
// broker refuses a batch for good, a single record may be the cause. So it splits the batch in
// halves to find that record.
func (r *flushRun) flush(ctx context.Context, indexes []int) bool {
	indexes = slices.DeleteFunc(slices.Clone(indexes), func(i int) bool { return r.held[string(r.records[i].Key)] })
	if len(indexes) == 0 {
		return true
	}
	reached := true
	var suspects []int
	for n, err := range r.send(ctx, indexes) {
		var refused *relay.RefusedError
		if errors.As(err, &refused) && refused.Verdict == relay.FailRecord && len(indexes) > 1 {
			suspects = append(suspects, indexes[n])
			continue
		}
		reached = r.settle(indexes[n], err) && reached
	}
	half := (len(suspects) + 1) / 2
	return reached && (half == 0 || r.flush(ctx, suspects[:half]) && r.flush(ctx, suspects[half:]))
}

// settle stores the result of a record. It reports whether the broker answers.
func (r *flushRun) settle(i int, err error) bool {
	record := r.records[i]
	if err == nil {
		r.errs[i] = nil
		r.taken.Store(record.Topic, true)
		return true
	}
	if !r.held[string(record.Key)] {
		r.errs[i] = err
	}
	if len(record.Key) > 0 {
		r.held[string(record.Key)] = true
	}
	var refused *relay.RefusedError
	return errors.As(err, &refused)
}

// send produces records in one flush, and returns an error for each.
func (r *flushRun) send(ctx context.Context, indexes []int) []error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	type end struct {
		n   int
		err error
	}
	ends := make(chan end, len(indexes))         // the client may call back after the wait has ended
	if err := r.batches.Flush(ctx); err != nil { // records of an earlier flush would split the batches
		return slices.Repeat([]error{r.failure("", err)}, len(indexes))
	}
	// The client's loop of an earlier flush may run a moment longer. It would send the first
	// records as a separate batch. If that batch were refused, later records would overtake it.
	// Once a broker answers Ping, the loop has ended. A broker that does not answer accepts
	// nothing.
	_ = r.batches.Ping(ctx)
	for n, i := range indexes {
		r.batches.Produce(ctx, clientRecord(r.records[i]), func(_ *kgo.Record, err error) { ends <- end{n, err} })
	}
	flushed := r.batches.Flush(ctx)
	errs := slices.Repeat([]error{r.failure("", flushed)}, len(indexes))
	for waiting := len(indexes); waiting > 0 && (flushed == nil || len(ends) > 0); waiting-- {
		ended := <-ends
		errs[ended.n] = r.failure(r.records[indexes[ended.n]].Topic, ended.err)
	}
	return errs
}

func clientRecord(record relay.Record) *kgo.Record {
	headers := make([]kgo.RecordHeader, len(record.Headers))
	for i, header := range record.Headers {
		headers[i] = kgo.RecordHeader{Key: header.Name, Value: []byte(header.Value)}
	}
	return &kgo.Record{Topic: record.Topic, Key: record.Key, Value: record.Value, Headers: headers}
}
