package explain

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/advice"
	"herald/internal/notification"
)

// next returns what happens next to an event, and what an operator can do; empty: nothing.
func (v EventView) next() string {
	if v.AwaitsApproval() {
		return fmt.Sprintf("it waits for %s or %s, and is rejected at %s",
			command("event approve", v.EventID), command("event reject", v.EventID),
			notification.InstantText(v.Approval.AskedAt.Add(notification.ApprovalWait)))
	}
	if v.Workflow.Status == Running {
		return nextOfFailing(v.Pending)
	}
	return newMoment(Why{EventID: v.EventID, Outbox: v.Outbox, Processed: v.Processed}, time.Time{}).tell(nextOfEnd)
}

// nextOfFailing describes the first failing activity of a running event; empty: none fails.
func nextOfFailing(pending []PendingActivity) string {
	for _, p := range pending {
		if p.LastFailure == "" {
			continue
		}
		meaning := failureMeaning(p)
		return fmt.Sprintf("%s failed %s%s: %s. %s; it then continues by itself",
			cmp.Or(steps[p.Activity], p.Activity), times(p), when(p), meaning.what, meaning.remedy)
	}
	return ""
}

// steps names the steps of an event by their activities.
var steps = map[string]string{
	registeredName(acts.PlanDeliveries): "planning",
	registeredName(acts.PublishEvent):   "publishing its message",
	registeredName(acts.CancelEvent):    "cancelling the other event",
	registeredName(acts.AnswerApproval): "storing the answer",
	registeredName(acts.FinishEvent):    "recording its end",
}

func times(p PendingActivity) string {
	failed := p.Attempt - 1 // the current attempt is due or under way: it has not failed
	if failed <= 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", failed)
}

func when(p PendingActivity) string {
	switch {
	case p.State == Started:
		return ", and is being tried again"
	case p.State == Paused:
		return ", and is paused: resume the activity in the Temporal Web UI"
	case p.NextAttempt != nil:
		return ", and is tried again at " + clock(p.NextAttempt)
	default:
		return ", and is tried again in a moment"
	}
}

// meaning explains a failure to an operator, with the remedy.
type meaning struct{ what, remedy string }

var sqlState = regexp.MustCompile(`\bSQLSTATE ([0-9A-Z]{5})\b`)

var anotherType = meaning{"a column has another type than Herald expects, or holds a value that Herald cannot read as that type",
	"If the directory is a view, cast the column there to the type in Herald's table"}

// databaseMeanings maps prefixes of SQLSTATEs to their meanings. The first match wins.
var databaseMeanings = []struct {
	state string
	meaning
}{
	{"42501", meaning{"the worker's role may not read or write what it needs", "Repeat the grants of docs/roles.md"}},
	{"42703", meaning{"a column that Herald needs is not there",
		"If the directory is a view, add the column to it; else run `starter migrate up`"}},
	{"42P01", meaning{"a table or view that Herald needs is not there", "Restore it, or run `starter migrate up`"}},
	{"42", anotherType},
	{"22", anotherType},
	{"57014", meaning{"a statement took longer than 30 s", "Look for locks, and for indexes that the tables behind your views lack"}},
	{"55P03", meaning{"another transaction holds a lock", "Wait; act only if it lasts"}},
	{"23", meaning{"a constraint refuses a row", "Correct the row that the constraint refuses"}},
	{"40", meaning{"another transaction was in the way", "Wait; act only if it lasts"}},
	{"P0", meaning{"a function or a trigger of the database raised an error", "The database's log has the message: correct its cause"}},
	{"53", meaning{"the database has run out of connections, memory or disk", "Give it more"}},
	{"57P", meaning{"the database is shutting down or starting", "Wait; act only if it lasts"}},
	{"08", meaning{"the connection to the database broke", "Wait; act only if it lasts"}},
	{"", meaning{"the database refused a statement", "The database's log has the message: correct its cause"}},
}

// failureMeaning returns the meaning of an activity's last failure.
func failureMeaning(p PendingActivity) meaning {
	found := sqlState.FindStringSubmatch(p.LastFailure)
	switch {
	case p.FailureType == activities.UnknownSource:
		return meaning{"a worker whose settings lack its source took it", "Give all workers the same OUTBOX_SOURCES and KAFKA_BROKERS"}
	case p.FailureType == activities.DatabaseFailed && found == nil:
		return anotherType
	case p.FailureType == activities.DatabaseFailed:
		for _, known := range databaseMeanings {
			if strings.HasPrefix(found[1], known.state) {
				return known.meaning
			}
		}
	}
	return meaning{"the last failure says why", "Correct its cause; if a server is down, start it"}
}

// refusedByDatabase explains a database error with the words for a failing planning activity, and
// hides the rows' values as planning does. It returns any other error as it is.
func refusedByDatabase(err error) error {
	var failure *temporal.ApplicationError
	if !errors.As(activities.Unquoted(err), &failure) || failure.Type() != activities.DatabaseFailed {
		return err
	}
	means := failureMeaning(PendingActivity{LastFailure: failure.Message(), FailureType: failure.Type()})
	return advice.With(fmt.Errorf("%s: %s", means.what, failure.Message()), strings.ToLower(means.remedy[:1])+means.remedy[1:])
}
