package check

import (
	"context"
	"maps"
	"slices"
	"strconv"
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
	return []Subject{subject("lifecycle", &survey{db: db}, []finding[*survey]{
		{place: "lifecycle_event", find: unsentLifecycle,
			problem: "triggers write it, but OUTBOX_SOURCES has no source lifecycle that sends its rows",
			remedy:  "add the source, or drop the triggers as docs/lifecycle.md says"},
	})}
}

func unsentLifecycle(s *survey, ctx context.Context) ([]args, error) {
	written, err := relay.On(s.db).WritesLifecycle(ctx)
	if err != nil || !written {
		return nil, err
	}
	return []args{{}}, nil
}

// sourceFact is something that an outbox lacks, or why its database cannot be read.
type sourceFact struct {
	source  relay.Source
	lacking dialects.Finding
	unread  string
}

func sourceOf(config relay.Source) Subject {
	return Subject{"source " + config.Name, func(ctx context.Context) ([]Mistake, error) {
		ctx, cancel := context.WithTimeout(ctx, serverTimeout)
		defer cancel()
		table, err := dialects.Open(ctx, config)
		if err != nil {
			return nil, err
		}
		defer table.Close()
		lacking, err := table.Missing(ctx)
		if err != nil {
			return evaluate(ctx, []sourceFact{{source: config, unread: cause(err)}}, sourceFindings)
		}
		var facts []sourceFact
		for _, finding := range lacking {
			facts = append(facts, sourceFact{source: config, lacking: finding})
		}
		return evaluate(ctx, facts, sourceFindings)
	}}
}

var sourceFindings = []finding[[]sourceFact]{
	{place: "source $source", row: "$table", find: where(func(f sourceFact) bool { return f.unread != "" }),
		problem: "its database cannot be read: $unread",
		remedy:  "start it, or set the variable that `database_url_env:` names to its address"},
	{place: "source $source", row: "$table", find: where(func(f sourceFact) bool { return f.unread == "" }),
		problem: "$what",
		remedy:  "$remedy"},
}

func (f sourceFact) args() args {
	return args{
		"source": f.source.Name, "table": f.source.Table, "unread": f.unread,
		"what": f.lacking.What, "remedy": f.lacking.Remedy,
	}
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
		facts := fixedTopics(ctx, brokers, sources)
		facts, err := addResting(ctx, db, facts, sources)
		mistakes, _ := evaluate(ctx, facts, topicFindings) // where never fails
		return mistakes, err
	}}}
}

// topicFact is a topic of a source, or why the brokers did not answer.
type topicFact struct {
	silence        string
	name, source   string
	missing        string // why it is not there; empty: it is
	copies         relay.TopicCopies
	known          bool   // whether copies are
	since, refusal string // of a topic that takes no record
}

const (
	topicPlace, topicRow = "topic $topic", "of source $source"
	moreCopies           = "give it 3 replicas (kafka-reassign-partitions) and min.insync.replicas=2 (kafka-configs)"
)

var topicFindings = []finding[[]topicFact]{
	{place: "setting KAFKA_BROKERS", find: where(func(t topicFact) bool { return t.silence != "" }),
		problem: "the brokers did not list their topics: $silence",
		remedy:  "start Kafka, or set KAFKA_BROKERS to their address"},
	{place: topicPlace, row: topicRow, advice: true, find: where(func(t topicFact) bool { return t.known && t.copies.MinInSync == 0 }),
		problem: "its min.insync.replicas cannot be read: $refused",
		remedy:  "grant Herald DescribeConfigs on the topic"},
	{place: topicPlace, row: topicRow, find: where(topicFact.isBrittle),
		problem: "it takes no record while a single broker is down: min.insync.replicas is $min, for $replicas replicas",
		remedy:  moreCopies},
	{place: topicPlace, row: topicRow, advice: true, find: where(topicFact.isUnconfirmed),
		problem: "Kafka confirms a record that only one broker has: min.insync.replicas is 1, for $replicas replicas",
		remedy:  moreCopies},
	{place: topicPlace, row: topicRow, find: where(func(t topicFact) bool { return t.missing != "" }),
		problem: "the brokers do not have it, or do not show it to Herald: $absence",
		remedy: "run `starter source migrate $source --topics`, grant Herald the right to write it, " +
			"or correct kafka.topic in the file of OUTBOX_SOURCES"},
	{place: topicPlace, row: topicRow, find: where(func(t topicFact) bool { return t.copies.MinInSync > t.copies.InSync }),
		problem: "it takes no record: $insync of $replicas replicas are in sync, and min.insync.replicas is $min",
		remedy:  "start the brokers that are down, or " + moreCopies},
	{place: topicPlace, row: topicRow, find: where(func(t topicFact) bool { return t.since != "" }),
		problem: "it has taken no record for $since: $refusal",
		remedy: "create the topic, grant Herald the right to write it, or correct kafka.topic in the file of OUTBOX_SOURCES; " +
			"its rows wait meanwhile"},
}

// isBrittle reports whether no broker may be down.
func (t topicFact) isBrittle() bool {
	return t.copies.Replicas > 1 && t.copies.MinInSync == t.copies.Replicas && t.copies.InSync == t.copies.Replicas
}

// isUnconfirmed reports whether one broker may have a record that the others lack.
func (t topicFact) isUnconfirmed() bool { return t.copies.MinInSync == 1 && t.copies.InSync > 0 }

func (t topicFact) args() args {
	return args{
		"silence": t.silence, "topic": t.name, "source": t.source, "absence": t.missing, "since": t.since, "refusal": t.refusal,
		"min": strconv.Itoa(t.copies.MinInSync), "insync": strconv.Itoa(t.copies.InSync), "replicas": strconv.Itoa(t.copies.Replicas),
		"refused": t.copies.Refused,
	}
}

// fixedTopics asks for the topics of the sources, before a row waits for them. It cannot ask for a topic
// whose name depends on the row: such a topic is found while it rests.
func fixedTopics(ctx context.Context, brokers Brokers, sources []relay.Source) (facts []topicFact) {
	sourceOf := map[string]string{}
	for _, source := range sources {
		if topic, fixed := source.Kafka.FixedTopic(); fixed {
			sourceOf[topic] = source.Name
		}
	}
	if brokers == nil || len(sourceOf) == 0 {
		return nil
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
		return []topicFact{{silence: cause(err)}}
	}
	for _, topic := range topics {
		fact := topicFact{name: topic, source: sourceOf[topic], missing: missing[topic]}
		if fact.missing == "" {
			fact.copies, fact.known = copies[topic]
		}
		facts = append(facts, fact)
	}
	return facts
}

// addResting adds the topics for which rows wait, unless they are known to be missing.
func addResting(ctx context.Context, db *db.DB, facts []topicFact, sources []relay.Source) ([]topicFact, error) {
	for _, source := range sources {
		topics, err := relay.On(db).TopicBackOffs(ctx, source.Name)
		if err != nil {
			return facts, err
		}
		for _, topic := range topics {
			if !slices.ContainsFunc(facts, func(f topicFact) bool { return f.name == topic.Topic && f.missing != "" }) {
				since := topic.Since.Round(time.Second).String()
				facts = append(facts, topicFact{name: topic.Topic, source: source.Name, since: since, refusal: topic.Error})
			}
		}
	}
	return facts, nil
}
