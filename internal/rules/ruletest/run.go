package ruletest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/contract"
	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/report"
	"herald/internal/rules"
	"herald/internal/template"
)

// Request asks to run the tests of a folder.
type Request struct {
	DB          *db.DB // the run creates a schema in this database
	Folder      *rules.Folder
	Only        *regexp.Regexp // runs the tests whose EVENT_TYPE/name it matches; nil: all
	LinkSchemes []string       // further schemes of links from data
	Progress    func(done int) // is called after each test; nil: nobody asks
}

// Report is the result of a run.
type Report struct {
	Tests     []Result    `json:"tests"`
	Unreached []Unreached `json:"unreached"` // null if only some of the tests ran
}

// Failed returns the number of failed tests.
func (r Report) Failed() int {
	failed := 0
	for _, test := range r.Tests {
		if len(test.Differences) > 0 {
			failed++
		}
	}
	return failed
}

// Result is the result of a test.
type Result struct {
	EventType   string        `json:"event_type"`
	Name        string        `json:"name"`
	File        string        `json:"file"`
	Line        int           `json:"line"`
	Took        time.Duration `json:"-"`
	Differences []Difference  `json:"differences"` // empty: the test is ok
}

// Run runs the tests. A mistake in the files is a [rules.Mistake]. A failed test is no error.
func Run(ctx context.Context, in Request) (found Report, err error) {
	s, err := newSchema(ctx, in.DB)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, s.drop(ctx)) }()
	if err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error { return in.Folder.Write(ctx, tx) }); err != nil {
		return Report{}, err
	}
	r := &run{schema: s, coverage: newCoverage(in.Folder)}
	if r.templates, err = (report.Reader{Pool: s.Pool}).Templates(ctx); err != nil {
		return Report{}, err
	}
	if r.schemas, err = s.payloadSchemas(ctx); err != nil {
		return Report{}, err
	}
	r.engine = template.Engine{LinkSchemes: in.LinkSchemes, Coverage: &r.coverage.texts}.WithExampleLinks()
	r.planner = planner.New(planner.On(s.DB), r.engine)
	found.Tests = []Result{}
	for _, event := range in.Folder.Events {
		for _, test := range event.Tests {
			if in.Only != nil && !in.Only.MatchString(event.Type+"/"+test.Name) {
				continue
			}
			result, err := r.test(ctx, event.Type, test)
			if err != nil {
				return Report{}, err
			}
			found.Tests = append(found.Tests, result)
			if in.Progress != nil {
				in.Progress(len(found.Tests))
			}
		}
	}
	if in.Only == nil {
		found.Unreached = r.coverage.unreached()
	}
	return found, nil
}

// run is the state of one [Run].
type run struct {
	*schema
	planner   planner.Planner
	engine    template.Engine
	templates []notification.Template
	schemas   map[string]*contract.Schema // by event type
	coverage  *coverage
}

// standardTime is the time of a test without a time: a Monday at noon.
var standardTime = time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)

// pageSize is the number of recipients that are read at a time.
const pageSize = 250

func (r *run) test(ctx context.Context, eventType string, test rules.Test) (Result, error) {
	result := Result{EventType: eventType, Name: test.Name, File: test.File, Line: test.Line, Differences: []Difference{}}
	began := time.Now()
	if err := r.fill(ctx, test); err != nil {
		return result, err
	}
	plan, err := r.planner.Draft(ctx, eventOf(eventType, test), atOf(test))
	if err != nil {
		return result, err
	}
	t := &testing{run: r, plan: plan, used: notification.Used{}, got: newOutcome()}
	if err := t.planPages(ctx); err != nil {
		return result, err
	}
	reasons, err := t.reasons(ctx, test)
	if err != nil {
		return result, err
	}
	result.Differences = append(r.mistakes(eventType, plan.Event.Payload), t.got.compare(test, reasons)...)
	result.Took = time.Since(began)
	return result, nil
}

func eventOf(eventType string, test rules.Test) notification.Event {
	aggregate := key(test.Aggregate)
	payload := test.Payload
	if payload == nil {
		payload = rules.Payload("{}")
	}
	event := notification.Event{
		Type: eventType, AggregateType: string(aggregate.UserType), AggregateID: aggregate.UserID, Payload: []byte(payload),
		Actor: key(test.Actor),
	}
	for _, person := range test.Exclude {
		event.Exclude = append(event.Exclude, string(person))
	}
	return event
}

// payloadSchemas compiles the schemas of the folder.
func (s *schema) payloadSchemas(ctx context.Context) (map[string]*contract.Schema, error) {
	type row struct{ EventType, PayloadSchema string }
	rows, err := db.Collect(ctx, s.Pool, "read event_type_schema", db.ByName[row](),
		"SELECT event_type, payload_schema::text FROM event_type_schema")
	compiled := map[string]*contract.Schema{}
	for _, row := range rows {
		schema, flaw := contract.Compile([]byte(row.PayloadSchema))
		if flaw != nil {
			return nil, fmt.Errorf("%s: %w", row.EventType, flaw)
		}
		compiled[row.EventType] = schema
	}
	return compiled, err
}

// mistakes returns where a payload is not as its schema says.
func (r *run) mistakes(eventType string, payload []byte) []Difference {
	found := []Difference{}
	if schema := r.schemas[eventType]; schema != nil {
		for _, mistake := range schema.Mistakes(payload) {
			found = append(found, Difference{Part: PartPayload, Want: "as payload_schema says", Got: mistake.String()})
		}
	}
	return found
}

func atOf(test rules.Test) time.Time {
	if test.At.IsZero() {
		return standardTime
	}
	return test.At
}
