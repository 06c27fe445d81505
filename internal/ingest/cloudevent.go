package ingest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"herald/internal/tracing"
	"herald/internal/web/problem"
	"herald/outbox"
)

// The media types of CloudEvents 1.0 in structured mode.
const (
	structured = "application/cloudevents+json"
	formats    = "application/cloudevents"
	batches    = "application/cloudevents-batch"
)

// attributePrefix precedes the attributes of an event in binary mode.
const attributePrefix = "Ce-"

// cloudEvent is an event of CloudEvents 1.0. Herald knows its producer by the token, so source is only
// checked, and so is time. Unknown extension attributes are ignored.
type cloudEvent struct {
	attributes map[string]string
	data       json.RawMessage
}

// readCloudEvent reads an event of CloudEvents. isOne is false if the request has another format.
func readCloudEvent(r *http.Request) (event outbox.Event, isOne bool, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // an invalid one has no format
	var read func(*http.Request) (cloudEvent, error)
	switch {
	case kind == structured:
		read = readStructured
	case strings.HasPrefix(kind, batches):
		err = &problem.Refusal{Status: http.StatusUnsupportedMediaType, Detail: "Herald takes no batch: send each event in a request"}
		return event, true, err
	case strings.HasPrefix(kind, formats):
		err = &problem.Refusal{Status: http.StatusUnsupportedMediaType, Detail: "Herald takes " + structured + ", or binary mode"}
		return event, true, err
	case r.Header.Get(attributePrefix+"Specversion") != "":
		read = readBinary
	default:
		return event, false, nil
	}
	found, err := read(r)
	if err == nil {
		event, err = found.event(r.Header.Get("traceparent"))
	}
	return event, true, err
}

// readStructured reads an event whose body has the attributes and the data.
func readStructured(r *http.Request) (found cloudEvent, err error) {
	text, err := problem.ReadBody(r)
	if err != nil {
		return found, err
	}
	var members map[string]json.RawMessage
	if err := problem.Decode(text, &members); err != nil {
		return found, err
	}
	found = cloudEvent{map[string]string{}, members["data"]}
	for name, value := range members {
		var text *string
		if name != "data" && json.Unmarshal(value, &text) == nil && text != nil {
			found.attributes[name] = *text
		} else if known[name] && string(value) != "null" {
			return found, problem.BadRequest("the CloudEvent's " + name + " must be a JSON string")
		}
	}
	return found, nil
}

// readBinary reads an event whose attributes are headers, and whose body is the data.
func readBinary(r *http.Request) (found cloudEvent, err error) {
	found.attributes = map[string]string{"datacontenttype": r.Header.Get("Content-Type")}
	for name := range r.Header {
		attribute, isOne := strings.CutPrefix(name, attributePrefix)
		if !isOne {
			continue
		}
		value, err := url.PathUnescape(r.Header.Get(name))
		if err != nil || !utf8.ValidString(value) {
			return found, problem.BadRequest("the header " + name + " must be percent-encoded UTF-8")
		}
		found.attributes[strings.ToLower(attribute)] = value
	}
	found.data, err = problem.ReadBody(r)
	return found, err
}

// known are the attributes that Herald reads.
var known = map[string]bool{
	"specversion": true, "id": true, "source": true, "type": true, "subject": true, "time": true, "datacontenttype": true, "data_base64": true,
	"traceparent": true, "correlationid": true, "cancels": true, "collapsekey": true, "expiresat": true, "actor": true, "exclude": true,
}

// event returns the row of event_outbox. It takes a missing traceparent from a header.
func (c cloudEvent) event(traceparent string) (event outbox.Event, err error) {
	if err := c.check(); err != nil {
		return event, err
	}
	attributes := c.attributes
	event = outbox.Event{
		ID: attributes["id"], Type: attributes["type"], Payload: c.data, CorrelationID: attributes["correlationid"],
		Cancels: attributes["cancels"], CollapseKey: attributes["collapsekey"],
		Traceparent: tracing.Valid(cmp.Or(attributes["traceparent"], traceparent)),
	}
	if len(c.data) == 0 {
		event.Payload = json.RawMessage("{}")
	}
	if exclude := attributes["exclude"]; exclude != "" {
		event.Exclude = strings.Split(exclude, ",")
	}
	if event.AggregateType, event.AggregateID, err = c.key("subject", "the aggregate"); err != nil {
		return event, err
	}
	if attributes["actor"] != "" {
		if event.ActorType, event.ActorID, err = c.key("actor", "who caused it"); err != nil {
			return event, err
		}
	}
	if attributes["expiresat"] != "" {
		at, err := c.time("expiresat")
		if err != nil {
			return event, err
		}
		event.ExpiresAt = expiry(at)
	}
	return event, nil
}

// check checks what every CloudEvent needs.
func (c cloudEvent) check() error {
	if c.attributes["specversion"] != "1.0" {
		return problem.BadRequest("the CloudEvent's specversion must be 1.0")
	}
	for _, name := range []string{"id", "source", "type"} {
		if c.attributes[name] == "" {
			return problem.BadRequest("the CloudEvent lacks " + name)
		}
	}
	if c.attributes["data_base64"] != "" {
		return problem.BadRequest("the CloudEvent has data_base64: Herald takes JSON in data")
	}
	if kind := c.attributes["datacontenttype"]; kind != "" && len(c.data) > 0 {
		if is, _, err := mime.ParseMediaType(kind); err != nil || (is != "application/json" && !strings.HasSuffix(is, "+json")) {
			return &problem.Refusal{Status: http.StatusUnsupportedMediaType, Detail: "the CloudEvent's data must be application/json"}
		}
	}
	if len(c.data) > 0 && !json.Valid(c.data) {
		return problem.BadRequest("the CloudEvent's data is not JSON, or it is incomplete")
	}
	if c.attributes["time"] != "" {
		_, err := c.time("time")
		return err
	}
	return nil
}

// key returns the parts of an attribute such as CUSTOMER/7.
func (c cloudEvent) key(name, meaning string) (kind, id string, err error) {
	kind, id, _ = strings.Cut(c.attributes[name], "/")
	if kind == "" || id == "" {
		err = problem.BadRequest(fmt.Sprintf("the CloudEvent's %s must be TYPE/ID, %s: CUSTOMER/7", name, meaning))
	}
	return kind, id, err
}

func (c cloudEvent) time(name string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, c.attributes[name])
	if err != nil {
		return at, problem.BadRequest("the CloudEvent's " + name + " must be a time such as 2026-12-01T15:00:00Z")
	}
	return at, nil
}
