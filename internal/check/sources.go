package check

import (
	"context"
	"slices"

	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
	"herald/internal/postgres"
)

// Sources checks that the outboxes of other services have what their dialects need, with one
// subject for each outbox. Herald's outbox belongs to the schema.
func Sources(sources []outboxes.Source) []Subject {
	var subjects []Subject
	for _, config := range sources {
		if !config.IsHerald() || config.Kafka != nil {
			subjects = append(subjects, sourceOf(config))
		}
	}
	return subjects
}

// Lifecycle checks that rows of lifecycle_event are sent if they are written. With the source in
// sources, there is no subject.
func Lifecycle(db *postgres.Store, sources []outboxes.Source) []Subject {
	if slices.ContainsFunc(sources, outboxes.Source.IsLifecycle) {
		return nil
	}
	return []Subject{{"lifecycle", func(ctx context.Context) ([]Mistake, error) {
		written, err := db.WritesLifecycle(ctx)
		if err != nil || !written {
			return nil, err
		}
		return []Mistake{{
			Place: "lifecycle_event", Problem: "triggers write it, but OUTBOX_SOURCES has no source lifecycle that sends its rows",
			Remedy: "add the source, or drop the triggers as docs/lifecycle.md says",
		}}, nil
	}}}
}

func sourceOf(config outboxes.Source) Subject {
	place := "source " + config.Name
	return Subject{place, func(ctx context.Context) ([]Mistake, error) {
		ctx, cancel := context.WithTimeout(ctx, serverTimeout)
		defer cancel()
		table, err := dialects.Open(ctx, config)
		if err != nil {
			return nil, err
		}
		defer table.Close()
		lacking, err := table.Missing(ctx)
		if err != nil {
			return []Mistake{{
				Place: place, Row: config.Table, Problem: "its database cannot be read: " + cause(err),
				Remedy: "start it, or set the variable that `database_url_env:` names to its address",
			}}, nil
		}
		var mistakes []Mistake
		for _, finding := range lacking {
			mistakes = append(mistakes, Mistake{Place: place, Row: config.Table, Problem: finding.What, Remedy: finding.Remedy})
		}
		return mistakes, nil
	}}
}
