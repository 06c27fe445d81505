// Package check looks for mistakes in the configuration: it reads the directory, the rules and the
// templates as planning does, and checks the servers. It changes nothing and sends no message. Each
// finding names a place and a remedy. A finding holds no address, no text and no part of a payload.
package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/relay"
	"herald/internal/template"
)

// Mistake is a mistake in the configuration, or a server that does not answer.
type Mistake struct {
	Subject string `json:"subject"`       // the checked subject, such as directory or rules
	Place   string `json:"place"`         // a table, a setting, a queue, a server
	Row     string `json:"row,omitempty"` // the key of the table's row
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`

	advice   bool // it is no mistake, but could be safer
	byWorker bool // a worker corrects it when it starts
	noWorker bool // no worker runs, which explains all mistakes with byWorker
	unquoted said
}

// Unquoted returns the mistake with texts that quote nobody: no error of a server or a template, and no
// value that may be personal data.
func (m Mistake) Unquoted() Mistake {
	m.Row, m.Problem, m.Remedy = m.unquoted.Row, m.unquoted.Problem, m.unquoted.Remedy
	if m.Problem == "" {
		m.Problem, m.Remedy = "this is not as it should be", "see `starter check`"
	}
	return m
}

// Where returns the place with its row.
func (m Mistake) Where() string { return strings.TrimSpace(m.Place + " " + m.Row) }

// NotChecked is a subject that could not be checked, for a reason that is no mistake.
type NotChecked struct {
	Subject string `json:"subject"`
	Reason  string `json:"reason"`
}

// Subject is one part of the check.
type Subject struct {
	Name string
	find func(ctx context.Context) ([]Mistake, error)
}

// PlanningInput is the input of [Planning].
type PlanningInput struct {
	DB      *db.DB
	Senders Senders
	Texts   template.Engine
	Since   time.Duration // the age of the events that it reads
	Sources []relay.Source
}

// Planning checks what planning reads: the directory, the rules and the templates. It uses the last
// events from sources with people. Events of other sources only go to topics, which these rules do not
// concern.
func Planning(in PlanningInput) []Subject {
	recent := &recentEvents{db: in.DB, since: in.Since}
	for _, source := range in.Sources {
		if source.People {
			recent.sources = append(recent.sources, source.Name)
		}
	}
	s := &survey{db: in.DB, senders: in.Senders, texts: in.Texts, recent: recent}
	return []Subject{{"directory", s.directory}, subject("rules", s, ruleFindings), {"templates", s.templates}}
}

// Sending checks the settings and the providers that sending needs.
func Sending(db *db.DB, senders Senders) []Subject {
	s := &survey{db: db, senders: senders}
	return []Subject{subject("channels", s, channelFindings), subject("providers", s, providerFindings)}
}

// Skip returns a subject that cannot be checked, with the reason.
func Skip(name, reason string) Subject {
	return Subject{name, func(context.Context) ([]Mistake, error) { return nil, &skipError{reason} }}
}

// skipError is the reason why a subject was not checked.
type skipError struct{ reason string }

func (e *skipError) Error() string { return e.reason }

// Result holds a check's findings, in the order of its subjects.
type Result struct {
	Checked    []string     `json:"checked"`
	Mistakes   []Mistake    `json:"mistakes"`
	NotChecked []NotChecked `json:"not_checked"`
	Advice     []Mistake    `json:"advice"` // settings that work but could be safer; these are no mistakes
	// Providers holds each channel's providers that are on, in the order in which Herald asks them.
	Providers map[notification.Channel][]string `json:"providers,omitempty"`
}

// UnverifiedDatabase advises to verify the server's name in DATABASE_URL.
func UnverifiedDatabase() Mistake {
	return Mistake{
		Subject: "settings", Place: "setting DATABASE_URL",
		Problem: "nobody verifies the server's name: an impostor would get the password",
		Remedy:  "set sslmode=verify-full, and sslrootcert to the certificate of its authority",
	}
}

// subjectTimeout bounds the time of one subject. One server has less time.
const subjectTimeout = 25 * time.Second

// Run checks all subjects concurrently, and returns all mistakes. If a subject cannot be read, that
// is a mistake too.
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

// explainByWorkers removes the mistakes that a starting worker would correct, if no worker runs. The
// missing worker remains as the mistake.
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
		found = append(found, Mistake{
			Place: subject, Problem: "could not be checked: " + cause(err), Remedy: "see the database's log, then check again",
		})
	}
	r.Checked = append(r.Checked, subject)
	for _, mistake := range found {
		mistake.Subject = subject
		if mistake.advice {
			r.Advice = append(r.Advice, mistake)
		} else {
			r.Mistakes = append(r.Mistakes, mistake)
		}
	}
}

// cause describes an error of the database. It shows only messages about the schema and about
// rights: other messages may quote values.
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
