package outboxes

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"text/template"
)

// KafkaRoute is where the events of a source go: Go templates over event_id, event_type,
// aggregate_type, aggregate_id and correlation_id.
type KafkaRoute struct {
	Topic string
	Key   string // empty: records have no key, and no order
}

// Record is what a topic gets.
type Record struct {
	Topic   string
	Key     []byte // nil: none
	Value   []byte // nil: null
	Headers []Header
}

// Header is one header of a [Record].
type Header struct {
	Name  string
	Value string
}

// FixedTopic returns the topic of every row; false: the topic depends on the row.
func (r KafkaRoute) FixedTopic() (topic string, fixed bool) {
	return r.Topic, !strings.Contains(r.Topic, "{{")
}

// Check says what is wrong with the templates of a route.
func (r KafkaRoute) Check() error {
	if strings.TrimSpace(r.Topic) == "" {
		return fmt.Errorf("the topic is empty")
	}
	sample := map[string]string{}
	for _, field := range (Source{}).recordFields("", Row{}) {
		sample[field.Name] = "a"
	}
	topic, err := parse("topic", r.Topic).fill(sample)
	if err != nil {
		return err
	}
	if !isTopic(topic) {
		return fmt.Errorf("the topic %q is no name for a topic: 1 to 249 of a-z A-Z 0-9 . _ -", r.Topic)
	}
	_, err = parse("key", r.Key).fill(sample)
	return err
}

var topicForm = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// isTopic says whether Kafka takes the name.
func isTopic(name string) bool { return topicForm.MatchString(name) && name != "." && name != ".." }

// recorder makes the records of a source's rows. It has parsed the templates once.
type recorder struct {
	source     Source
	topic, key routeTemplate
}

// newRecorder returns a recorder for a source that has a topic.
func newRecorder(source Source) *recorder {
	return &recorder{source, parse("topic", source.Kafka.Topic), parse("key", source.Kafka.Key)}
}

// record is the row of an event as its topic gets it. The error is a [RefusedError] that is
// final: no topic can have the name that the row leads to. The record then has its key alone.
func (r *recorder) record(eventID string, row Row) (Record, error) {
	fields := r.source.recordFields(eventID, row)
	values := map[string]string{}
	for _, field := range fields {
		values[field.Name] = field.Value
	}
	key, err := r.key.fill(values)
	if err != nil {
		return Record{}, &RefusedError{Code: err.Error(), Verdict: FailRecord}
	}
	var record Record
	if key != "" {
		record.Key = []byte(key)
	}
	topic, err := r.topic.fill(values)
	if err != nil {
		return record, &RefusedError{Code: err.Error(), Verdict: FailRecord}
	}
	if !isTopic(topic) {
		return record, &RefusedError{Code: "the topic's template leads to no name for a topic", Verdict: FailRecord}
	}
	record.Topic, record.Value, record.Headers = topic, row.Payload, r.source.headers(fields, row.Payload)
	return record, nil
}

// recordFields are what templates may name, and headers too.
func (s Source) recordFields(eventID string, row Row) []Header {
	aggregateType, aggregateID := s.aggregateOf(row)
	return []Header{
		{"event_id", eventID},
		{"event_type", row.EventType},
		{"aggregate_type", aggregateType},
		{"aggregate_id", aggregateID},
		{"correlation_id", row.CorrelationID},
	}
}

// headers leaves out what the row does not have.
func (s Source) headers(fields []Header, payload []byte) []Header {
	var headers []Header
	for _, header := range append(fields, Header{"source", s.Name}, Header{"content-type", contentType(payload)}) {
		if header.Value != "" {
			headers = append(headers, header)
		}
	}
	return headers
}

func contentType(payload []byte) string {
	switch {
	case payload == nil:
		return ""
	case json.Valid(payload):
		return "application/json"
	default:
		return "text/plain; charset=utf-8"
	}
}

// routeTemplate is one of the templates of a [KafkaRoute].
type routeTemplate struct {
	what   string
	parsed *template.Template
	err    error
}

func parse(what, text string) routeTemplate {
	parsed, err := template.New(what).Option("missingkey=error").Parse(text)
	return routeTemplate{what, parsed, err}
}

// fill fills in the template; a name that is none of the values is an error.
func (t routeTemplate) fill(values map[string]string) (string, error) {
	var filled strings.Builder
	err := t.err
	if err == nil {
		err = t.parsed.Execute(&filled, values)
	}
	if err != nil {
		return "", fmt.Errorf("the template of the %s: %w", t.what, err)
	}
	return filled.String(), nil
}

// slot is the part, of [Slots], that a record's key falls into, or an event's id where the
// record has no key. It is the same in every process and release.
func slot(record Record, eventID string) int {
	text := record.Key
	if len(text) == 0 {
		text = []byte(eventID)
	}
	hash := fnv.New32a()
	_, _ = hash.Write(text) // it returns no error
	return int(hash.Sum32() % Slots)
}

// keyHash stands for the key of a record; 0: it has no key.
func keyHash(record Record) int64 {
	if len(record.Key) == 0 {
		return 0
	}
	return KeyHash(record.Key)
}

// KeyHash is what source_row.key_hash has of a key.
func KeyHash(key []byte) int64 {
	hash := fnv.New64a()
	_, _ = hash.Write(key) // it returns no error
	return int64(max(hash.Sum64(), 1))
}
