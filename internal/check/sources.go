package check

import (
	"context"

	"herald/internal/notification"
	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
)

// Sources check that the outboxes of other services have what their dialects need: one
// subject for each. Herald's own is a part of the schema.
func Sources(sources []outboxes.Source) []Subject {
	var subjects []Subject
	for _, config := range sources {
		if config.Name != notification.HeraldSource {
			subjects = append(subjects, sourceOf(config))
		}
	}
	return subjects
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
				Place: place, Row: config.Table, Problem: "its database cannot be looked at: " + cause(err),
				Remedy: "start it, or set the variable that `database_url_env:` names to where it is",
			}}, nil
		}
		var mistakes []Mistake
		for _, finding := range lacking {
			mistakes = append(mistakes, Mistake{Place: place, Row: config.Table, Problem: finding.What, Remedy: finding.Remedy})
		}
		return mistakes, nil
	}}
}
