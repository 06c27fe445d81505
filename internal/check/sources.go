package check

import (
	"context"
	"slices"
	"time"

	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
	"herald/internal/postgres"
)

// RestingTopics checks that the topics of sources take records. Without a topic there is no
// subject.
func RestingTopics(db *postgres.Store, sources []outboxes.Source) []Subject {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s outboxes.Source) bool { return s.Kafka == nil })
	if len(sources) == 0 {
		return nil
	}
	return []Subject{{"topics", func(ctx context.Context) ([]Mistake, error) {
		var mistakes []Mistake
		for _, source := range sources {
			topics, err := db.RestingTopics(ctx, source.Name)
			if err != nil {
				return nil, err
			}
			for _, topic := range topics {
				mistakes = append(mistakes, Mistake{
					Place: "topic " + topic.Topic, Row: "of source " + source.Name, Problem: "it has taken no record for " + topic.Since.Round(time.Second).String() + ": " + topic.Error,
					Remedy: "create the topic, grant Herald the right to write it, or correct kafka.topic in the file of OUTBOX_SOURCES; its rows wait meanwhile",
				})
			}
		}
		return mistakes, nil
	}}}
}

// Sources check that the outboxes of other services have what their dialects need: one
// subject for each. Herald's own is a part of the schema.
func Sources(sources []outboxes.Source) []Subject {
	var subjects []Subject
	for _, config := range sources {
		if !config.IsHerald() || config.Kafka != nil {
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
