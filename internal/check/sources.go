package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"herald/internal/db"
	"herald/internal/relay"
	"herald/internal/relay/dialects"
)

// Sources checks that the outboxes of other services have what their dialects need, with one
// subject for each outbox. Herald's outbox belongs to the schema.
func Sources(sources []relay.Source) []Subject {
	var subjects []Subject
	for _, config := range sources {
		if !config.IsHerald() || config.Kafka != nil {
			subjects = append(subjects, sourceOf(config))
		}
	}
	return subjects
}

// Lifecycle checks that a source sends the rows of lifecycle_event, if triggers write them. There is
// no subject if sources has the source lifecycle.
func Lifecycle(db *db.DB, sources []relay.Source) []Subject {
	if slices.ContainsFunc(sources, relay.Source.IsLifecycle) {
		return nil
	}
	return []Subject{{"lifecycle", func(ctx context.Context) ([]Mistake, error) {
		written, err := relay.On(db).WritesLifecycle(ctx)
		if err != nil || !written {
			return nil, err
		}
		return []Mistake{{
			Place: "lifecycle_event", Problem: "triggers write it, but OUTBOX_SOURCES has no source lifecycle that sends its rows",
			Remedy: "add the source, or drop the triggers as docs/lifecycle.md says",
		}}, nil
	}}}
}

func sourceOf(config relay.Source) Subject {
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

// Brokers describes Kafka topics.
type Brokers interface {
	MissingTopics(ctx context.Context, topics []string) (map[string]string, error)
	TopicCopies(ctx context.Context, topics []string) (map[string]relay.TopicCopies, error)
}

// Topics checks that the topics of the sources exist, take records and keep them. If no source has
// a topic, there is no subject. brokers is nil if KAFKA_BROKERS is not set.
func Topics(db *db.DB, brokers Brokers, sources []relay.Source) []Subject {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s relay.Source) bool { return s.Kafka == nil })
	if len(sources) == 0 {
		return nil
	}
	return []Subject{{"topics", func(ctx context.Context) ([]Mistake, error) {
		mistakes, missing := fixedTopics(ctx, brokers, sources)
		for _, source := range sources {
			topics, err := relay.On(db).RestingTopics(ctx, source.Name)
			if err != nil {
				return nil, err
			}
			for _, topic := range topics {
				if missing[topic.Topic] != "" {
					continue // fixedTopics reports it
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

// fixedTopics finds topics that do not exist, before a row waits for them, and topics that can lose
// records or soon take none. It cannot check a topic whose name depends on the row: such a topic is
// found while it rests.
func fixedTopics(ctx context.Context, brokers Brokers, sources []relay.Source) (mistakes []Mistake, missing map[string]string) {
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
	topics := slices.Sorted(maps.Keys(sourceOf))
	missing, err := brokers.MissingTopics(ctx, topics)
	var copies map[string]relay.TopicCopies
	if err == nil {
		copies, err = brokers.TopicCopies(ctx, topics)
	}
	if err != nil {
		return []Mistake{{Place: "setting KAFKA_BROKERS", Problem: "the brokers did not list their topics: " + cause(err), Remedy: "start Kafka, or set KAFKA_BROKERS to their address"}}, missing
	}
	for _, topic := range topics {
		place := Mistake{Place: "topic " + topic, Row: "of source " + sourceOf[topic]}
		if missing[topic] != "" {
			place.Problem = "the brokers do not have it, or do not show it to Herald: " + missing[topic]
			place.Remedy = fmt.Sprintf("run `starter source migrate %s --topics`, grant Herald the right to write it, or correct kafka.topic in the file of OUTBOX_SOURCES", sourceOf[topic])
			mistakes = append(mistakes, place)
		} else if found, known := copies[topic]; known {
			mistakes = append(mistakes, place.ofCopies(found)...)
		}
	}
	return mistakes, missing
}

// ofCopies returns a mistake if the topic takes no records, may soon take none, or can lose records.
func (m Mistake) ofCopies(found relay.TopicCopies) []Mistake {
	const more = "give it 3 replicas (kafka-reassign-partitions) and min.insync.replicas=2 (kafka-configs)"
	switch {
	case found.MinInSync == 0:
		m.Problem, m.Remedy, m.advice = "its min.insync.replicas cannot be read: "+found.Refused, "grant Herald DescribeConfigs on the topic", true
	case found.MinInSync > found.InSync:
		m.Problem = fmt.Sprintf("it takes no record: %d of %d replicas are in sync, and min.insync.replicas is %d", found.InSync, found.Replicas, found.MinInSync)
		m.Remedy = "start the brokers that are down, or " + more
	case found.Replicas > 1 && found.MinInSync == found.Replicas:
		m.Problem = fmt.Sprintf("it takes no record while a single broker is down: min.insync.replicas is %d, for %d replicas", found.MinInSync, found.Replicas)
		m.Remedy = more
	case found.MinInSync == 1:
		m.Problem = fmt.Sprintf("Kafka confirms a record that only one broker has: min.insync.replicas is 1, for %d replicas", found.Replicas)
		m.Remedy, m.advice = more, true
	default:
		return nil
	}
	return []Mistake{m}
}
