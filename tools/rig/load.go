package rig

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/outbox"
)

// Event is an event of a load, with the messages that it asks for.
type Event struct {
	outbox.Event

	Committed bool
	Messages  []Message

	CancelledBy string        // id of the event that cancels it; empty: none
	CancelledAt time.Time     // when the commit of the cancelling event had returned; zero: unknown
	Grace       time.Duration // the maximum time that a message in flight may take after the cancellation
}

// Message is a message that an event asks for.
type Message struct {
	Delivery string // its id, in the documented form
	Address  string // the only address that may get it
	Text     string // a part of the body, which names the person and the event
}

// Ask adds a message to a recipient such as customer42.
func (e *Event) Ask(recipient, channel, address, text string) {
	e.Messages = append(e.Messages, Message{Delivery: e.ID + "-" + recipient + "-" + channel, Address: address, Text: text})
}

// Load writes events, and keeps what they ask for until [Judge] compares it with the ledger.
type Load struct {
	DB     *pgxpool.Pool
	Orders string // business table that gets the id of each event in the same transaction; empty: none
	Events []*Event
}

// Add adds an event to the load. The caller commits it, or rolls it back.
func (l *Load) Add(event outbox.Event) *Event {
	e := &Event{Event: event}
	l.Events = append(l.Events, e)
	return e
}

// Commit writes events in one transaction, and returns the time before its commit. After an error,
// the transaction may still be committed: only the business table can tell.
func (l *Load) Commit(ctx context.Context, events ...*Event) (began time.Time, err error) {
	err = pgx.BeginFunc(ctx, l.DB, func(tx pgx.Tx) error {
		err := l.insert(ctx, tx, events)
		began = time.Now()
		return err
	})
	for _, e := range events {
		e.Committed = err == nil
	}
	return began, err
}

// RollBack writes events in a transaction that it rolls back.
func (l *Load) RollBack(ctx context.Context, events ...*Event) error {
	tx, err := l.DB.Begin(ctx)
	if err != nil {
		return err
	}
	return errors.Join(l.insert(ctx, tx, events), tx.Rollback(ctx))
}

func (l *Load) insert(ctx context.Context, tx pgx.Tx, events []*Event) error {
	rows := make([]outbox.Event, len(events))
	for i, e := range events {
		rows[i] = e.Event
		if l.Orders == "" {
			continue
		}
		if _, err := tx.Exec(ctx, "INSERT INTO "+l.Orders+" (event_id) VALUES ($1)", e.ID); err != nil {
			return err
		}
	}
	return outbox.Insert(ctx, tx, rows...)
}
