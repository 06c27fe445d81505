package operate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/advice"
	"herald/internal/db/postgrestest"
	"herald/internal/roomtest"
)

// transcript collects what operators read, one case after the other.
type transcript struct {
	t    *testing.T
	text strings.Builder
	far  string // a time that is another one in each run
}

// outcome writes an outcome as terminal, console and JSON show it.
func (s *transcript) outcome(name string, o Outcome) {
	s.t.Helper()
	encoded := must(json.Marshal(o))(s.t)
	fmt.Fprintf(&s.text, "%s\n  %s\n  json: %s\n", name, o, encoded)
	s.next(o.Next())
}

// failure writes an error and its advice.
func (s *transcript) failure(name string, err error) {
	s.t.Helper()
	require.Error(s.t, err, name)
	fmt.Fprintf(&s.text, "%s\n  error: %s\n", name, err)
	var advised *advice.Error
	if errors.As(err, &advised) {
		s.next(advised.Next)
	}
}

func (s *transcript) next(text string) {
	if text != "" {
		fmt.Fprintf(&s.text, "  next: %s\n", text)
	}
}

// both writes the outcome of a dry run, and then the outcome of a run.
func (s *transcript) both(name string, d *desk, verb Verb, id string) {
	s.t.Helper()
	s.one(name+", dry run", d, verb, id, true)
	s.one(name, d, verb, id, false)
}

// run writes the outcome of a run.
func (s *transcript) run(name string, d *desk, verb Verb, id string) {
	s.t.Helper()
	s.one(name, d, verb, id, false)
}

func (s *transcript) one(name string, d *desk, verb Verb, id string, dryRun bool) {
	s.t.Helper()
	outcome, err := (&bulk{operator: d.Operator, verb: verb, dryRun: dryRun}).one(s.t.Context(), id)
	require.NoError(s.t, err)
	s.outcome(fmt.Sprintf("%s %s", verb.Noun.One, name), outcome)
	if outcome.Err != nil {
		s.failure("  its error", outcome.Err)
	}
}

// audit writes the recorded actions.
func (s *transcript) audit(o *Operator) {
	s.t.Helper()
	for _, line := range postgrestest.List(s.t, o.DB, "SELECT concat_ws(' | ', target, detail) FROM operator_action ORDER BY id") {
		fmt.Fprintf(&s.text, "  audit: %s\n", line)
	}
}

// compare compares the transcript with its file.
func (s *transcript) compare(name string) {
	s.t.Helper()
	text := s.text.String()
	if s.far != "" {
		text = strings.ReplaceAll(text, s.far, "FAR")
	}
	roomtest.Golden(s.t, name, text)
}
