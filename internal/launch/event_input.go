package launch

import (
	"cmp"
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"

	"herald/internal/notification"
	"herald/workflows"
)

// notifyInput is what the workflow of an event does.
func (l *Launcher) notifyInput(event notification.PendingEvent) (workflows.NotifyInput, error) {
	in := workflows.NotifyInput{
		EventID: event.ID, Source: event.Source, Publish: l.PublishEvents && !event.Published, Commands: cmp.Or(l.Generation, workflows.Commands), Cancels: event.Cancels,
	}
	return in, l.CheckSource(cmp.Or(event.Source, notification.HeraldSource))
}

// CheckSource says what keeps this process from starting events of a source.
func (l *Launcher) CheckSource(name string) error {
	source, known := l.Sources[name]
	switch {
	case name == notification.HeraldSource:
		return nil
	case !known:
		return fmt.Errorf("OUTBOX_SOURCES has no source named %q here: give every process the same", name)
	case !source.People:
		return fmt.Errorf("the source %q tells no people: set `people: true` in OUTBOX_SOURCES if it is to", name)
	default:
		return nil
	}
}

const (
	// maxKeyword is how much of a keyword Temporal keeps on Postgres, in bytes.
	maxKeyword = 255
	// maxSummary is well below Temporal's limit of a summary, 400 bytes.
	maxSummary = 300
)

// searchAttributes leaves out what the event does not have, and what is too long: an
// aggregate of another outbox has no limits of Herald's.
func searchAttributes(event notification.PendingEvent) temporal.SearchAttributes {
	attributes := []temporal.SearchAttributeUpdate{workflows.EventTypeAttribute.ValueSet(event.Type)}
	if aggregate := aggregateOf(event); aggregate != "" && len(aggregate) <= maxKeyword {
		attributes = append(attributes, workflows.AggregateAttribute.ValueSet(aggregate))
	}
	return temporal.NewSearchAttributes(attributes...)
}

// summary is what the Web UI shows beside the id.
func summary(event notification.PendingEvent) string {
	text := event.Type
	if aggregate := aggregateOf(event); aggregate != "" {
		text += " of " + aggregate
	}
	if len(text) > maxSummary {
		text = strings.ToValidUTF8(text[:maxSummary], "")
	}
	return text
}

// aggregateOf is RESTAURANT/5; empty: the event has none.
func aggregateOf(event notification.PendingEvent) string {
	if event.AggregateType == "" || event.AggregateID == "" {
		return ""
	}
	return notification.Entity{Type: event.AggregateType, ID: event.AggregateID}.String()
}
