// Package check looks for mistakes in all that is configured: it reads the directory, the
// rules and the templates as planning does, and asks the servers for what Herald needs of
// them. It changes nothing, and no message ever goes out. What it finds names a place and
// what to do there; it holds no address, no text and nothing of a payload.
package check

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/outboxes"
	"herald/internal/postgres"
)

// Mistake is one thing that is configured wrong, or that does not answer.
type Mistake struct {
	Subject string `json:"subject"`       // what was checked: directory, rules, …
	Place   string `json:"place"`         // a table, a setting, a queue, a server
	Row     string `json:"row,omitempty"` // of the table, by its key
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`

	byWorker bool // a worker mends it when it starts
	noWorker bool // no worker runs at all: that explains all that is byWorker
}

// Where is the place with its row.
func (m Mistake) Where() string { return strings.TrimSpace(m.Place + " " + m.Row) }

// NotChecked is a subject that nobody could look at, for a reason that is no mistake.
type NotChecked struct {
	Subject string `json:"subject"`
	Reason  string `json:"reason"`
}

// Subject is a part of what is checked.
type Subject struct {
	Name string
	find func(ctx context.Context) ([]Mistake, error)
}

// Planning checks what planning reads: who is told of what, in which words. Events count if
// they were written in the time since, and are of a source that concerns people: others
// only go to topics, which these rules say nothing of.
func Planning(db *postgres.Store, senders Senders, since time.Duration, sources []outboxes.Source) []Subject {
	recent := &recentEvents{db: db, since: since}
	for _, source := range sources {
		if source.People {
			recent.sources = append(recent.sources, source.Name)
		}
	}
	return []Subject{directoryOf(db, senders), rulesOf(db, recent), templatesOf(db, recent)}
}

// Sending checks the parts of the environment and of the providers that sending needs.
func Sending(db *postgres.Store, senders Senders) []Subject {
	return []Subject{channelsOf(db, senders), providersOf(db, senders)}
}

// Skip is a subject that cannot be looked at.
func Skip(name, reason string) Subject {
	return Subject{name, func(context.Context) ([]Mistake, error) { return nil, &skipError{reason} }}
}

// skipError is why a subject was not looked at.
type skipError struct{ reason string }

func (e *skipError) Error() string { return e.reason }

// Result holds a check's findings, in the order of its subjects.
type Result struct {
	Checked    []string     `json:"checked"`
	Mistakes   []Mistake    `json:"mistakes"`
	NotChecked []NotChecked `json:"not_checked"`
	Advice     []Mistake    `json:"advice"` // what works, and could be safer: no mistakes
}

// UnverifiedDatabase recommends to verify the server of DATABASE_URL.
func UnverifiedDatabase() Mistake {
	return Mistake{Subject: "settings", Place: "setting DATABASE_URL", Problem: "nobody verifies the server's name: an impostor would get the password",
		Remedy: "set sslmode=verify-full, and sslrootcert to the certificate of its authority"}
}

// subjectTimeout bounds the time for one subject. Single servers have less.
const subjectTimeout = 25 * time.Second

// Run looks at all subjects at the same time, and returns all mistakes. That a subject
// cannot be read is one as well.
func Run(ctx context.Context, subjects []Subject) Result {
	found := make([][]Mistake, len(subjects))
	failed := make([]error, len(subjects))
	var looking sync.WaitGroup
	for i, subject := range subjects {
		looking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, subjectTimeout)
			defer cancel()
			found[i], failed[i] = subject.find(ctx)
		})
	}
	looking.Wait()
	result := Result{Checked: []string{}, Mistakes: []Mistake{}, NotChecked: []NotChecked{}, Advice: []Mistake{}}
	for i, subject := range subjects {
		result.add(subject.Name, found[i], failed[i])
	}
	result.explainByWorkers()
	return result
}

// explainByWorkers leaves one line where no worker runs: what a worker would mend when it
// starts is no separate mistake then.
func (r *Result) explainByWorkers() {
	if !slices.ContainsFunc(r.Mistakes, func(m Mistake) bool { return m.noWorker }) {
		return
	}
	r.Mistakes = slices.DeleteFunc(r.Mistakes, func(m Mistake) bool { return m.byWorker && !m.noWorker })
}

func (r *Result) add(subject string, found []Mistake, err error) {
	var skipped *skipError
	switch {
	case errors.As(err, &skipped):
		r.NotChecked = append(r.NotChecked, NotChecked{subject, skipped.reason})
		return
	case err != nil:
		found = append(found, Mistake{Place: subject, Problem: "could not be checked: " + cause(err), Remedy: "see the database's log, then check again"})
	}
	r.Checked = append(r.Checked, subject)
	for _, mistake := range found {
		mistake.Subject = subject
		r.Mistakes = append(r.Mistakes, mistake)
	}
}

// cause names an error of the database. Only what is said of the schema and of rights is
// shown: other words of the database may quote values.
func cause(err error) string {
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && strings.HasPrefix(refused.Code, "42"):
		return fmt.Sprintf("%s (SQLSTATE %s)", refused.Message, refused.Code)
	case errors.As(err, &refused):
		return "SQLSTATE " + refused.Code
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	default:
		return err.Error()
	}
}

// listed is the number of mistakes of one kind that are named.
const listed = 10

// few keeps the first mistakes of one kind, and says how many more there are.
func few(all []Mistake) []Mistake {
	if len(all) <= listed {
		return all
	}
	more := Mistake{Place: all[0].Place, Problem: fmt.Sprintf("%d more like these", len(all)-listed), Remedy: all[0].Remedy}
	return append(all[:listed:listed], more)
}

// word matches values that may be shown. Others come from a column that may
// hold something else than it should.
var word = regexp.MustCompile(`^[\p{L}\p{N}_+/:.-]{1,64}$`)

func shown(value string) string {
	if word.MatchString(value) {
		return value
	}
	return "(a value that is not shown)"
}

// have is "1 row has" or "7 rows have".
func have(count int) string {
	if count == 1 {
		return "1 row has"
	}
	return fmt.Sprintf("%d rows have", count)
}
