package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
	"herald/internal/postgres"
)

// Brokers finds missing Kafka topics.
type Brokers interface {
	MissingTopics(ctx context.Context, topics []string) (map[string]string, error)
}

// Topics checks that the topics of the sources exist and take records. If no source has a topic,
// there is no subject. brokers is nil if KAFKA_BROKERS is not set.
func Topics(db *postgres.Store, brokers Brokers, sources []outboxes.Source) []Subject {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s outboxes.Source) bool { return s.Kafka == nil })
	if len(sources) == 0 {
		return nil
	}
	return []Subject{{"topics", func(ctx context.Context) ([]Mistake, error) {
		mistakes, missing := missingTopics(ctx, brokers, sources)
		for _, source := range sources {
			topics, err := db.RestingTopics(ctx, source.Name)
			if err != nil {
				return nil, err
			}
			for _, topic := range topics {
				if missing[topic.Topic] != "" {
					continue // missingTopics reports it
				}
				mistakes = append(mistakes, Mistake{
					Place: "topic " + topic.Topic, Row: "of source " + source.Name, Problem: "it has taken no record for " + topic.Since.Round(time.Second).String() + ": " + topic.Error,
					Remedy: "create the topic, grant Herald the right to write it, or correct kafka.topic in the file of OUTBOX_SOURCES; its rows wait meanwhile",
				})
			}
		}
		return mistakes, nil
	}}}
}

// missingTopics finds topics that do not exist, before a row waits for them. It cannot check a
// topic whose name depends on the row: such a topic is found while it rests.
func missingTopics(ctx context.Context, brokers Brokers, sources []outboxes.Source) (mistakes []Mistake, missing map[string]string) {
	sourceOf := map[string]string{}
	for _, source := range sources {
		if topic, fixed := source.Kafka.FixedTopic(); fixed {
			sourceOf[topic] = source.Name
		}
	}
	if brokers == nil || len(sourceOf) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	missing, err := brokers.MissingTopics(ctx, slices.Sorted(maps.Keys(sourceOf)))
	if err != nil {
		return []Mistake{{Place: "setting KAFKA_BROKERS", Problem: "the brokers cannot be asked for topics: " + cause(err), Remedy: "start Kafka, or set KAFKA_BROKERS to their address"}}, nil
	}
	for _, topic := range slices.Sorted(maps.Keys(missing)) {
		mistakes = append(mistakes, Mistake{
			Place: "topic " + topic, Row: "of source " + sourceOf[topic], Problem: "the brokers do not have it, or do not show it to Herald: " + missing[topic],
			Remedy: fmt.Sprintf("run `starter source migrate %s --topics`, grant Herald the right to write it, or correct kafka.topic in the file of OUTBOX_SOURCES", sourceOf[topic]),
		})
	}
	return mistakes, missing
}

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
