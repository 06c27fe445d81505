package relay

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"text/template"
)

// KafkaRoute is the topic and the key of a source's events. Both are Go templates over event_id,
// event_type, aggregate_type, aggregate_id and correlation_id.
type KafkaRoute struct {
	Topic string
	Key   string // empty: records have no key and no order
}

// Record is a record for a topic.
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

// FixedTopic returns the topic of every row. fixed is false if the topic depends on the row.
func (r KafkaRoute) FixedTopic() (topic string, fixed bool) {
	return r.Topic, !strings.Contains(r.Topic, "{{")
}

// Check returns an error if a template of the route is invalid.
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
		return fmt.Errorf("the topic name %q is invalid: use 1 to 249 of a-z A-Z 0-9 . _ -", r.Topic)
	}
	_, err = parse("key", r.Key).fill(sample)
	return err
}

var topicForm = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// isTopic reports whether Kafka accepts the name.
func isTopic(name string) bool { return topicForm.MatchString(name) && name != "." && name != ".." }

// recorder turns a source's rows into records. It parses the templates once.
type recorder struct {
	source     Source
	topic, key routeTemplate
}

// newRecorder returns a recorder for a source with a topic or a webhook.
func newRecorder(source Source) *recorder {
	route := webhookRoute
	if source.Kafka != nil {
		route = *source.Kafka
	}
	return &recorder{source, parse("topic", route.Topic), parse("key", route.Key)}
}

// record returns the record of a row. The error is a final [RefusedError]: the row leads to an
// invalid topic name. The record then has only its key.
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
	record.Topic, record.Value, record.Headers = topic, row.Payload, r.source.headers(fields, row)
	return record, nil
}

// recordFields returns the values for templates and headers.
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

// headers omits empty values.
func (s Source) headers(fields []Header, row Row) []Header {
	var headers []Header
	for _, header := range append(fields, Header{"source", s.Name}, Header{"content-type", contentType(row.Payload)},
		Header{"traceparent", row.Traceparent}) {
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

// routeTemplate is a template of a [KafkaRoute].
type routeTemplate struct {
	what   string
	parsed *template.Template
	err    error
}

func parse(what, text string) routeTemplate {
	parsed, err := template.New(what).Option("missingkey=error").Parse(text)
	return routeTemplate{what, parsed, err}
}

// fill fills in the template; an unknown name is an error.
func (t routeTemplate) fill(values map[string]string) (string, error) {
	var filled strings.Builder
	err := t.err
	if err == nil {
		err = t.parsed.Execute(&filled, values)
	}
	if err != nil {
		return "", fmt.Errorf("render the template of the %s: %w", t.what, err)
	}
	return filled.String(), nil
}

// slot returns the part of [Slots] for a record's key, or for the event's id if there is no key.
// The result is the same in every process and release.
func slot(record Record, eventID string) int {
	text := record.Key
	if len(text) == 0 {
		text = []byte(eventID)
	}
	hash := fnv.New32a()
	_, _ = hash.Write(text) // never returns an error
	return int(hash.Sum32() % Slots)
}

// keyHash returns the hash of a record's key; 0: no key.
func keyHash(record Record) int64 {
	if len(record.Key) == 0 {
		return 0
	}
	return KeyHash(record.Key)
}

// KeyHash returns the value of source_row.key_hash for a key.
func KeyHash(key []byte) int64 {
	hash := fnv.New64a()
	_, _ = hash.Write(key) // never returns an error
	return int64(max(hash.Sum64(), 1))
}
