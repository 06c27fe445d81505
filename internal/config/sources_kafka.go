package config

import (
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"herald/internal/outboxes"
)

// forever is the word for [outboxes.RetryForever].
const forever = "forever"

// topic reads where the events of a source go, and how often that is tried.
func (f *sourcesFile) topic(source *outboxes.Source, m mapping) {
	source.Retries, source.RetryInterval = f.retries(m), m.duration("retry_interval", defaultSourceRetry, 10*time.Millisecond, time.Hour)
	node, there := m.values["kafka"]
	if !there {
		for _, key := range []string{"retries", "retry_interval"} {
			if m.has(key) {
				f.refuse(m.lineOf(key), "%s is how often Kafka is asked again, but there is no `kafka:`", key)
			}
		}
		return
	}
	kafka, ok := f.mapping(node, "kafka", kafkaKeys)
	if !ok {
		return
	}
	kafka.need("kafka", "topic")
	source.Kafka = &outboxes.KafkaRoute{Topic: kafka.string("topic"), Key: kafka.string("key")}
	if source.Kafka.Topic == "" {
		return
	}
	if err := source.Kafka.Check(); err != nil {
		f.refuse(kafka.line, "%s", err)
	}
}

// retries are those after the first attempt: a number, or for ever.
func (f *sourcesFile) retries(m mapping) int {
	if word, isText := m.values["retries"].(*ast.StringNode); isText {
		if word.Value != forever {
			f.refuse(m.lineOf("retries"), "retries must be a whole number from 0 to 100, or %s", forever)
		}
		return outboxes.RetryForever
	}
	return m.number("retries", defaultSourceRetries, 0, 100)
}

// aggregate reads what an event is about, for a dialect whose table does not say.
func (f *sourcesFile) aggregate(source *outboxes.Source, m mapping) {
	node, there := m.values["aggregate"]
	switch {
	case there && source.Dialect.HasAggregate():
		f.refuse(m.lineOf("aggregate"), "tables of %s have an aggregate of their own", source.Dialect)
		return
	case !there && source.People && slices.Contains(outboxes.Dialects(), source.Dialect) && !source.Dialect.HasAggregate():
		f.refuse(m.lineOf("people"), "people are found by the aggregate, which tables of %s do not have: give the source `aggregate:`", source.Dialect)
		return
	case !there:
		return
	}
	a, ok := f.mapping(node, "aggregate", aggregateKeys)
	if !ok {
		return
	}
	a.need("aggregate", aggregateKeys...)
	source.Aggregate = &outboxes.Aggregate{Type: a.string("type"), IDPath: a.string("id_path")}
	if text := source.Aggregate.Type; text != "" && !aggregateType.MatchString(text) {
		f.refuse(a.lineOf("type"), "type must be a word such as CUSTOMER, 100 characters at most")
	}
	if text := source.Aggregate.IDPath; text != "" && !idPaths.MatchString(text) {
		f.refuse(a.lineOf("id_path"), "id_path must be keys of the payload with dots between them, such as customer.id; of several paths, with commas between them, the first that is there counts")
	}
}
