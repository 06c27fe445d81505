package explain

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/advice"
)

// meaning is what a failure means to an operator, and what ends it.
type meaning struct{ what, remedy string }

var sqlState = regexp.MustCompile(`\bSQLSTATE ([0-9A-Z]{5})\b`)

var anotherType = meaning{"a column has another type than Herald expects, or holds what cannot be read as that type",
	"If the directory is a view, cast the column there, as the table that it stands for has it"}

// databaseMeanings are by the beginning of the SQLSTATE; the first one that fits counts.
var databaseMeanings = []struct {
	state string
	meaning
}{
	{"42501", meaning{"the worker's role may not read or write what it needs", "Repeat the grants of docs/roles.md"}},
	{"42703", meaning{"a column that Herald needs is not there", "If the directory is a view, add the column to it; else run `starter migrate up`"}},
	{"42P01", meaning{"a table or view that Herald needs is not there", "Restore it, or run `starter migrate up`"}},
	{"42", anotherType},
	{"22", anotherType},
	{"57014", meaning{"a statement took longer than 30 s", "Look for locks, and for indexes that the tables behind your views lack"}},
	{"55P03", meaning{"another transaction holds a lock", "Nothing is to be done unless it lasts"}},
	{"23", meaning{"a constraint refuses a row", "Mend what the constraint asks for"}},
	{"40", meaning{"another transaction was in the way", "Nothing is to be done unless it lasts"}},
	{"P0", meaning{"a function or a trigger of the database raised an error", "The database's own log has its words: mend what they name"}},
	{"53", meaning{"the database has run out of connections, memory or disk", "Give it more"}},
	{"57P", meaning{"the database is shutting down or starting", "Nothing is to be done unless it lasts"}},
	{"08", meaning{"the connection to the database broke", "Nothing is to be done unless it lasts"}},
	{"", meaning{"the database refused a statement", "The database's own log has its words: mend what they name"}},
}

// failureMeaning says what the last failure of an activity means.
func failureMeaning(p PendingActivity) meaning {
	found := sqlState.FindStringSubmatch(p.LastFailure)
	switch {
	case p.FailureType == activities.UnknownSource:
		return meaning{"a worker that was not told of its source took it", "Give all workers the same OUTBOX_SOURCES, and KAFKA_BROKERS"}
	case p.FailureType == activities.DatabaseFailed && found == nil:
		return anotherType
	case p.FailureType == activities.DatabaseFailed:
		for _, known := range databaseMeanings {
			if strings.HasPrefix(found[1], known.state) {
				return known.meaning
			}
		}
	}
	return meaning{"the last failure says why", "Mend what it names; if that is a server, bring it back"}
}

// refusedByDatabase says of a statement that reads as planning does what is said of
// planning when it fails, and as little of the rows. It returns any other error as it is.
func refusedByDatabase(err error) error {
	var failure *temporal.ApplicationError
	if !errors.As(activities.Unquoted(err), &failure) || failure.Type() != activities.DatabaseFailed {
		return err
	}
	means := failureMeaning(PendingActivity{LastFailure: failure.Message(), FailureType: failure.Type()})
	return advice.With(fmt.Errorf("%s: %s", means.what, failure.Message()), strings.ToLower(means.remedy[:1])+means.remedy[1:])
}
