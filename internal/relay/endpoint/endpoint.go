// Package endpoint posts the records of an outbox to a webhook, signed as Standard Webhooks says.
package endpoint

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/channel"
	"herald/internal/channel/webhook"
	"herald/internal/relay"
)

const (
	// posts limits the concurrent posts of one page.
	posts       = 16
	postTimeout = 10 * time.Second
	// pageTime is the time after which a page begins no more posts. The relay reads the remaining rows again.
	pageTime = 15 * time.Second
)

// Endpoint is a webhook that accepts the records of an outbox. It is safe for concurrent use.
type Endpoint struct {
	url  string
	keys webhook.Keys
	wire http.RoundTripper
}

// New returns the endpoint, or nil without settings.
func New(s Settings) (*Endpoint, error) {
	if s.URL == "" {
		return nil, nil
	}
	keys, err := webhook.NewKeys(s.Secret)
	return &Endpoint{string(s.URL), keys, channel.NewTransport(posts)}, err
}

// ProduceAll posts records, and returns an error for each, as [relay.Topics] says. Records of one
// key are posted one after the other. After an error, later records of its key are not posted. If
// the receiver does not answer, or is busy, no more records are posted.
func (e *Endpoint) ProduceAll(ctx context.Context, records []relay.Record) []error {
	errs := slices.Repeat([]error{relay.ErrKeyHeld}, len(records))
	until := time.Now().Add(pageTime)
	var away atomic.Bool
	var group errgroup.Group
	group.SetLimit(posts)
	for _, indexes := range byKey(records) {
		group.Go(func() error {
			for _, i := range indexes {
				if away.Load() || time.Now().After(until) {
					return nil
				}
				if errs[i] = e.post(ctx, records[i]); errs[i] != nil {
					away.Store(away.Load() || errors.As(errs[i], new(*relay.UnavailableError)))
					return nil
				}
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	return errs
}

// byKey groups the indexes of records by key.
func byKey(records []relay.Record) (groups [][]int) {
	place := map[string]int{}
	for i, record := range records {
		at, seen := place[string(record.Key)]
		if !seen || len(record.Key) == 0 {
			at = len(groups)
			place[string(record.Key)], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

// post posts a record. Its event id is the id of the message.
func (e *Endpoint) post(ctx context.Context, record relay.Record) error {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	exchange := channel.NewExchange(e.wire)
	_ = exchange.Post(ctx, e.url, e.keys.Header(eventID(record), record.Value), record.Value) // the exchange holds the answer
	failure := exchange.Failure(ctx, "the receiver")
	if failure == nil {
		return nil
	}
	switch verdict, judged := verdictOf(exchange.Status); {
	case judged:
		return &relay.RefusedError{Topic: record.Topic, Code: failure.Error(), Verdict: verdict}
	default:
		return &relay.UnavailableError{Err: failure}
	}
}

func eventID(record relay.Record) string {
	for _, header := range record.Headers {
		if header.Name == "event_id" {
			return header.Value
		}
	}
	return ""
}

// verdictOf returns the meaning of a status for the record or the webhook. judged is false if the status
// means neither: the receiver is busy, broken or away.
func verdictOf(status int) (verdict relay.Verdict, judged bool) {
	switch {
	case status < 300, status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		return "", false
	case status < 400, status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound,
		status == http.StatusMethodNotAllowed, status == http.StatusGone:
		return relay.BackOffTopic, true
	default:
		return relay.RetryRecord, true
	}
}

// errAsked is the state of a receiver after a post that it did not decide about.
var errAsked = errors.New("the receiver was busy or down at the last post")

// Ready returns an error. The relay calls it after a post that the receiver did not decide about, and only another
// post can find out whether it answers again.
func (e *Endpoint) Ready(context.Context) error {
	return &relay.UnavailableError{Err: errAsked}
}
