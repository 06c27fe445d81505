package kafka

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"herald/internal/outboxes"
)

const (
	// maxBatch is below what the client, and a broker by default, take as one batch, in
	// bytes as [size] counts them.
	maxBatch = 900 << 10
	// flushTimeout bounds one request to each broker.
	flushTimeout = 15 * time.Second
)

// ProduceAll produces records, and returns the error of each: an [outboxes.RefusedError] or an [outboxes.UnavailableError].
// Those of one key are taken in their order: behind one that is not acknowledged, no other
// one of its key is, and its error is [outboxes.ErrKeyHeld].
//
// A broker takes or refuses a whole batch, and a flush has one batch for each partition at
// most. So no record overtakes one of its key that was refused beside it.
func (p *Producer) ProduceAll(ctx context.Context, records []outboxes.Record) []error {
	client, give, err := p.take()
	if err != nil {
		return slices.Repeat([]error{&outboxes.UnavailableError{Err: err}}, len(records))
	}
	defer give()
	r := flushRun{
		Producer: p, batches: client, records: records,
		errs: slices.Repeat([]error{outboxes.ErrKeyHeld}, len(records)), held: map[string]bool{},
	}
	for _, flush := range p.flushes(records) {
		if !r.flush(ctx, flush) {
			break
		}
	}
	return r.errs
}

// flushes are the indexes of the records, flush by flush: each is as large as one batch,
// or has a single record. Batches are of one topic, so a record follows one of its key
// that goes to another topic in a later flush. So do the others of a key to a topic that
// has taken nothing yet: as long as it is not known to exist, its records fail one by one.
func (p *Producer) flushes(records []outboxes.Record) (flushes [][]int) {
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
		case at.first && !p.hasTaken(record.Topic):
			at = place{record.Topic, at.round + 1, false}
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

// size is an upper bound of what a record takes in a batch.
func size(record outboxes.Record) int {
	bytes := len(record.Key) + len(record.Value) + 64
	for _, header := range record.Headers {
		bytes += len(header.Name) + len(header.Value) + 16
	}
	return bytes
}

// flushRun is one [Producer.ProduceAll].
type flushRun struct {
	*Producer
	batches *kgo.Client
	records []outboxes.Record
	errs    []error
	held    map[string]bool // keys
}

// flush produces those records whose keys are not held, and says whether brokers answer.
// Where a batch is refused for good, which need be for one of its records alone, it looks
// for that by halves.
func (r *flushRun) flush(ctx context.Context, indexes []int) bool {
	indexes = slices.DeleteFunc(slices.Clone(indexes), func(i int) bool { return r.held[string(r.records[i].Key)] })
	if len(indexes) == 0 {
		return true
	}
	reached := true
	var suspects []int
	for n, err := range r.send(ctx, indexes) {
		var refused *outboxes.RefusedError
		if errors.As(err, &refused) && refused.Verdict == outboxes.FailRecord && len(indexes) > 1 {
			suspects = append(suspects, indexes[n])
			continue
		}
		reached = r.settle(indexes[n], err) && reached
	}
	half := (len(suspects) + 1) / 2
	return reached && (half == 0 || r.flush(ctx, suspects[:half]) && r.flush(ctx, suspects[half:]))
}

// settle notes the end of a record, and says whether its broker answers.
func (r *flushRun) settle(i int, err error) bool {
	record := r.records[i]
	if err == nil {
		r.errs[i] = nil
		r.noteTaken(record.Topic)
		return true
	}
	if !r.held[string(record.Key)] {
		r.errs[i] = err
	}
	if len(record.Key) > 0 {
		r.held[string(record.Key)] = true
	}
	var refused *outboxes.RefusedError
	return errors.As(err, &refused)
}

// send produces records in one flush, and returns the error of each.
func (r *flushRun) send(ctx context.Context, indexes []int) []error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	type end struct {
		n   int
		err error
	}
	ends := make(chan end, len(indexes))         // the client calls back although nobody waits any more
	if err := r.batches.Flush(ctx); err != nil { // what an earlier flush left behind would break the batches in two
		return slices.Repeat([]error{r.failure("", err)}, len(indexes))
	}
	// The client's loop that sent an earlier flush may go on for a moment. It would take the
	// first records as a batch of their own, and with them refused, what follows would overtake
	// them. It has ended by the time that a broker answers; one that does not takes nothing.
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

func clientRecord(record outboxes.Record) *kgo.Record {
	headers := make([]kgo.RecordHeader, len(record.Headers))
	for i, header := range record.Headers {
		headers[i] = kgo.RecordHeader{Key: header.Name, Value: []byte(header.Value)}
	}
	return &kgo.Record{Topic: record.Topic, Key: record.Key, Value: record.Value, Headers: headers}
}
