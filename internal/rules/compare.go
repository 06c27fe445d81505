package rules

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/internal/db"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/template"
)

// Comparison tells how many of the last events a plan would have decided differently.
type Comparison struct {
	Events    int      `json:"events"`    // that were compared
	Different int      `json:"different"` // other recipients, decisions or outcomes, in numbers
	Types     []string `json:"types"`     // of the different events
	Skipped   int      `json:"skipped"`   // events with too many recipients, or for which no time was left
}

const (
	// comparedSince is the age of the events that are compared. [report.Reader.RecentTypes] has the last
	// five of each type.
	comparedSince = 24 * time.Hour
	// compareTimeout limits a comparison, and comparedRecipients the recipients of an event.
	compareTimeout     = 20 * time.Second
	comparedRecipients = 2000
)

// Compare plans the last events of each type twice: by the rules as they are, and by the rules as the
// plan makes them. It changes nothing: the new rules are in temporary tables of one connection.
func (p Plan) Compare(ctx context.Context, d *db.DB, texts template.Engine, sources []string) (c Comparison, err error) {
	c.Types = []string{}
	if !p.Differs() {
		return c, nil
	}
	types, err := report.Reader{Pool: d.Pool}.RecentTypes(ctx, comparedSince, sources)
	if err != nil || len(types) == 0 {
		return c, err
	}
	changed, err := p.shadow(ctx, d)
	if err != nil {
		return c, err
	}
	defer changed.Close()
	limited, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	before, after := explain.Explainer{DB: d, Texts: texts}, explain.Explainer{DB: changed, Texts: texts}
	for _, named := range types {
		for _, id := range named.EventIDs {
			different, err := differs(limited, before, after, id)
			switch {
			case err != nil && ctx.Err() == nil && (errors.Is(err, errTooLarge) || limited.Err() != nil || errors.Is(err, notification.ErrNoEvent)):
				c.Skipped++
				continue
			case err != nil:
				return c, fmt.Errorf("compare event %s: %w", id, err)
			}
			c.Events++
			if different {
				c.Different++
				if !slices.Contains(c.Types, named.EventType) {
					c.Types = append(c.Types, named.EventType)
				}
			}
		}
	}
	return c, nil
}

var errTooLarge = errors.New("the event has too many recipients")

// differs plans an event by two sets of rules, at the time of the event.
func differs(ctx context.Context, before, after explain.Explainer, id string) (bool, error) {
	at, err := db.One(ctx, before.DB.Pool, "read the event's time", pgx.RowTo[time.Time],
		"SELECT created_at FROM event_outbox WHERE event_id = $1", id)
	if err != nil {
		return false, db.NoRowsAs(err, notification.ErrNoEvent)
	}
	old, err := decisions(ctx, before, id, at)
	if err != nil {
		return false, err
	}
	now, err := decisions(ctx, after, id, at)
	return !reflect.DeepEqual(old, now), err
}

// decisions returns what an event would do, without texts.
func decisions(ctx context.Context, e explain.Explainer, id string, at time.Time) (explain.Simulation, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s, err := e.Simulate(ctx, explain.SimulateRequest{EventID: id, At: at, Progress: func(recipients int) {
		if recipients > comparedRecipients {
			cancel(errTooLarge)
		}
	}})
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	s.Samples, s.Problem = nil, ""
	for i := range s.Channels {
		s.Channels[i].FirstFail = ""
	}
	return s, err
}

// shadow returns a database with one connection, in which temporary tables with the plan's rules hide
// the tables that the plan changes.
func (p Plan) shadow(ctx context.Context, d *db.DB) (*db.DB, error) {
	config := d.Pool.Config()
	config.MaxConns, config.MinConns = 1, 0
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for _, t := range tables {
				if slices.ContainsFunc(p.Changes, func(c Change) bool { return c.of == t }) {
					if err := t.hide(ctx, tx); err != nil {
						return err
					}
				}
			}
			return p.write(ctx, tx)
		})
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, db.Wrap(err, "compare")
	}
	shadow := *d
	shadow.Pool = pool
	return &shadow, nil
}

// hide copies a table into a temporary table of its name.
func (t *table) hide(ctx context.Context, tx pgx.Tx) error {
	var schema string
	if err := tx.QueryRow(ctx, "SELECT quote_ident(current_schema())").Scan(&schema); err != nil {
		return db.Wrap(err, "compare")
	}
	columns := t.names()
	for _, statement := range []string{
		fmt.Sprintf("CREATE TEMPORARY TABLE %s (LIKE %s.%s INCLUDING ALL)", t.name, schema, t.name),
		fmt.Sprintf("INSERT INTO pg_temp.%s (%s) SELECT %s FROM %s.%s", t.name, columns, columns, schema, t.name),
	} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return db.Wrap(err, "compare: copy "+t.name)
		}
	}
	return nil
}
