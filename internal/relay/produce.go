package relay

import (
	"context"
	"errors"
	"time"
)

// pageEnd is the result of sending a page.
type pageEnd struct {
	sent, failed int
	passed       int
	again        bool // rows were held without a lasting reason: the lane reads the page again
}

// outcome groups a page's rows by their topics' answers.
type outcome struct {
	done        []pageRow
	refused     []refusedRow
	faulty      map[string]*RefusedError // topics that accept nothing
	unavailable map[string]error         // topics without an answer from any broker
}

// refusedRow is a row that its topic refused, or whose form is invalid.
type refusedRow struct {
	pageRow
	why error
}

// send sends the due rows of a page. It marks a sent page while the next page is being sent, and waits for
// the marks before the page after that.
func (p *poll) send(ctx context.Context, l *lane, page page) (end pageEnd, err error) {
	due, o, passed := p.evaluate(l, page)
	end.passed = passed
	if err := p.settle(ctx, page); err != nil {
		return end, err
	}
	end.again = p.produce(ctx, due, &o)
	end.sent, end.passed = len(o.done), end.passed+len(due)-len(o.done)
	p.observe(o.done)
	p.release(l, o.done)
	awaited := p.awaitMarks()
	if awaited == nil && len(o.refused)+len(o.faulty)+len(o.unavailable) == 0 {
		p.marks = make(chan error, 1)
		go func() { p.marks <- p.mark(ctx, o.done) }()
		return end, nil
	}
	if err := p.mark(ctx, o.done); err != nil { // includes the previous page if its marks failed
		return end, err
	}
	end.failed, err = p.refuse(ctx, l, o.refused)
	if err != nil {
		return end, err
	}
	return end, p.leaveTopics(ctx, o)
}

// evaluate returns the rows of a page to produce now, and counts the rows that it passes over. Rows
// that can never be produced are refused at once.
func (p *poll) evaluate(l *lane, page page) (due []pageRow, o outcome, passed int) {
	for _, row := range page.rows {
		switch step := row.step(p.Table.MarksFailed()); {
		case step == passWaiting:
			p.dueIn(row.Wait)
			p.hold(row)
			passed++
		case step != sendRow:
			passed++
		case p.isHeld(l, page, row):
			passed++
		case p.recorder == nil && row.PeopleError != "":
			o.refused = append(o.refused, refusedRow{row, errors.New(row.PeopleError)})
		case row.err != nil:
			o.refused = append(o.refused, refusedRow{row, row.err})
		case p.backOffs.has(row.record.Topic) && !l.Open[row.record.Topic]:
			passed++
		default:
			if row.Refusals > 0 { // later rows of its key follow in the same call
				p.freed[row.hash] = true
			}
			due = append(due, row)
		}
	}
	return due, o, passed
}

// isHeld reports whether an earlier row with the same key must be sent first.
func (p *poll) isHeld(l *lane, page page, row pageRow) bool {
	switch {
	case row.hash == 0:
		return false
	case p.held[row.hash], l == &p.Front && p.Released[row.hash]:
		return true
	default:
		return page.held[row.hash] && row.Refusals == 0 && !p.freed[row.hash]
	}
}

// hold makes later rows of the row's key wait in this scan. Rows without a key have no order.
func (p *poll) hold(row pageRow) {
	if row.hash != 0 {
		p.held[row.hash] = true
	}
}

// release frees the rows that waited for refused rows, because the refused rows have ended. The back sends
// the rows that the front passed over meanwhile, because the back keeps their order.
func (p *poll) release(l *lane, ended []pageRow) {
	for _, row := range ended {
		if row.Refusals == 0 || row.hash == 0 {
			continue
		}
		p.freed[row.hash] = true
		if l == &p.Back {
			p.Released[row.hash] = true
		}
	}
}

// produce sends rows to their topics. It reports whether it held back some rows only for now, so that the
// lane reads the page again.
func (p *poll) produce(ctx context.Context, due []pageRow, o *outcome) (again bool) {
	if p.recorder == nil {
		o.done = due
		return false
	}
	if len(due) == 0 {
		return false
	}
	records := make([]Record, len(due))
	for i, row := range due {
		records[i] = row.record
	}
	o.faulty, o.unavailable = map[string]*RefusedError{}, map[string]error{}
	for i, err := range p.Topics.ProduceAll(ctx, records) {
		var refused *RefusedError
		switch {
		case err == nil:
			o.done = append(o.done, due[i])
		case errors.As(err, &refused) && refused.Verdict == BackOffTopic:
			o.faulty[due[i].record.Topic] = refused
		case errors.As(err, &refused):
			p.hold(due[i])
			o.refused = append(o.refused, refusedRow{due[i], refused})
		case errors.Is(err, ErrKeyHeld):
			again = true
		default:
			o.unavailable[due[i].record.Topic] = err
		}
	}
	return again || len(o.unavailable) > 0
}

// observe records the age of acknowledged rows.
func (p *poll) observe(done []pageRow) {
	if p.recorder == nil {
		return
	}
	for _, row := range done {
		if row.CreatedAt != nil {
			p.Metrics.Acknowledged(max(0, time.Since(*row.CreatedAt)))
		}
	}
}

// leaveTopics starts the back-off of topics that accept nothing. If no broker answers for a topic, but
// brokers are reachable, its partition has no leader. Then the topic backs off too. Otherwise the
// relay waits for the brokers.
func (p *poll) leaveTopics(ctx context.Context, o outcome) error {
	for topic, err := range o.unavailable {
		if p.Topics.Ready(ctx) != nil {
			return err
		}
		if err := p.backOffTopic(ctx, topic, err); err != nil {
			return err
		}
	}
	for topic, refused := range o.faulty {
		if err := p.backOffTopic(ctx, topic, refused); err != nil {
			return err
		}
	}
	return nil
}

// backOffTopic stores the back-off before this poller starts it. So the stored one never ends later than the
// poller's, and none begins that the database does not have.
func (p *poll) backOffTopic(ctx context.Context, topic string, why error) error {
	wait := p.backOffs.after(topic)
	if err := p.Memory.BackOffTopic(ctx, p.Source.Name, TopicBackOff{Topic: topic, Wait: wait, Error: why.Error()}); err != nil {
		return err
	}
	p.backOffs.begin(topic, wait)
	delete(p.Front.Open, topic)
	delete(p.Back.Open, topic)
	p.dueIn(wait)
	p.Log.Warn("a topic accepts no records, so it rests: create it, or grant Herald the right to write to it", "source", p.Source.Name,
		"topic", topic, "rest", wait, "error", why)
	return nil
}

// maxRetry limits the time between two attempts at a refused record.
const maxRetry = 5 * time.Minute

// refuse counts refusals. The rows are retried later, or have failed.
func (p *poll) refuse(ctx context.Context, l *lane, rows []refusedRow) (failed int, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	kept := make([]KnownRow, 0, len(rows))
	var ended []pageRow
	for _, row := range rows {
		known := row.KnownRow
		known.Error = row.why.Error()
		known.Refusals++
		if known.Wait = p.Source.retryIn(row.why, known.Refusals); known.Wait > 0 {
			p.dueIn(known.Wait)
		} else {
			known.Failed = true
			ended = append(ended, row.pageRow)
			p.Log.Error("row failed", "event_id", row.eventID, "source", p.Source.Name, "refusals", known.Refusals, "error", row.why)
		}
		kept = append(kept, known)
	}
	if p.recorder != nil {
		p.Metrics.Refused(len(rows))
	}
	if err := p.Memory.KeepRows(ctx, p.Source.Name, kept); err != nil {
		return 0, err
	}
	p.release(l, ended)
	for _, row := range ended {
		delete(p.held, row.hash)
	}
	for _, row := range kept {
		if row.Failed {
			if err := p.markFailed(ctx, row); err != nil {
				return len(ended), err
			}
		}
	}
	return len(ended), nil
}

// retryIn returns the delay before the next attempt, by the number of refusals; 0: never.
func (s Source) retryIn(why error, refusals int) time.Duration {
	var refused *RefusedError
	final := !errors.As(why, &refused) || refused.Verdict == FailRecord
	if final || s.Retries != RetryForever && refusals > s.Retries {
		return 0
	}
	delay := min(s.RetryInterval, maxRetry)
	for range min(refusals-1, 64) {
		delay = min(2*delay, maxRetry)
	}
	return delay
}
