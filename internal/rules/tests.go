package rules

import (
	"encoding/json"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"herald/internal/notification"
)

// Test is a test of an event type's rules: an event, the people in the directory, and what each of them
// gets.
type Test struct {
	Name      string       `yaml:"name"`
	At        time.Time    `yaml:"at"`        // when the event is written and planned; zero: at no particular time
	Aggregate Reference    `yaml:"aggregate"` // of the event; empty: none
	Payload   Payload      `yaml:"payload"`
	Actor     Reference    `yaml:"actor"`   // whose act caused the event; empty: unknown
	Exclude   References   `yaml:"exclude"` // people who are not told
	People    []TestPerson `yaml:"people"`
	// Expect holds the decision for each recipient and channel. Who is not here is not told.
	Expect map[Reference]map[notification.Channel]notification.Decision `yaml:"expect"`

	Texts          TestTexts `yaml:"texts"`           // of planned deliveries; in a digest, of its items
	DigestTexts    TestTexts `yaml:"digest_texts"`    // of digests with this event as their item
	EscalatedTexts TestTexts `yaml:"escalated_texts"` // of deliveries that escalation adds

	File string `yaml:"-"`
	Line int    `yaml:"-"`
}

// Reference is a type and an id: RESTAURANT_USER/10 or RESTAURANT/5.
type Reference string

// References are one reference, or a list of them.
type References []Reference

// UnmarshalYAML reads the references.
func (r *References) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*r = References{Reference(node.Value)}
		return nil
	}
	return node.Decode((*[]Reference)(r))
}

// Payload is the payload of an event in JSON. Its numbers are written as in the file.
type Payload json.RawMessage

// UnmarshalYAML reads the payload.
func (p *Payload) UnmarshalYAML(node *yaml.Node) error {
	value, err := jsonValue(node)
	if err != nil {
		return err
	}
	*p, err = json.Marshal(value)
	return err
}

// jsonValue returns a node as a value for encoding/json. A time stays the text that it is.
func jsonValue(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i < len(node.Content); i += 2 {
			value, err := jsonValue(node.Content[i+1])
			if err != nil {
				return nil, err
			}
			object[node.Content[i].Value] = value
		}
		return object, nil
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range node.Content {
			value, err := jsonValue(item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.ScalarNode:
		return jsonScalar(node)
	}
	return nil, fmt.Errorf("line %d: an alias is not allowed: write the value out", node.Line)
}

func jsonScalar(node *yaml.Node) (value any, err error) {
	switch tag := node.ShortTag(); {
	case tag == "!!null":
		return nil, nil
	case tag == "!!bool":
		err = node.Decode(&value)
		return value, err
	case tag != "!!int" && tag != "!!float":
		return node.Value, nil
	case json.Valid([]byte(node.Value)):
		return json.Number(node.Value), nil
	default:
		return nil, fmt.Errorf("line %d: %s is no number in JSON: quote it, or write it in another way", node.Line, node.Value)
	}
}

// TestTexts are texts by recipient and channel.
type TestTexts map[Reference]map[notification.Channel]TestText

// TestText is the text that a recipient reads; nil: any text.
type TestText struct {
	Title *string `yaml:"title"`
	Body  *string `yaml:"body"`
	URL   *string `yaml:"url"`
}

// TestPerson is a person in the directory during a test. The keys have the names of the columns.
type TestPerson struct {
	Is              Reference  `yaml:"is"`     // RESTAURANT_USER/10
	Member          References `yaml:"member"` // RESTAURANT/5, or a list of groups
	Role            string     `yaml:"role"`   // in each group
	Mutes           References `yaml:"mutes"`  // RESTAURANT/5, or a list
	Name            string     `yaml:"name"`
	Email           *string    `yaml:"email"` // nil, as in the other addresses: none
	Phone           *string    `yaml:"phone"`
	SlackWebhookURL *string    `yaml:"slack_webhook_url"`
	WebhookURL      *string    `yaml:"webhook_url"`
	Devices         []string   `yaml:"devices"` // the tokens of active devices
	Locale          string     `yaml:"locale"`  // empty: en
	Timezone        string     `yaml:"timezone"`
	DigestAt        *string    `yaml:"digest_at"` // a time of day; nil: as the routing says
	Active          *bool      `yaml:"active"`    // nil: true

	Follows       map[Reference]notification.FollowLevel  `yaml:"follows"` // ALL or IMPORTANT
	Preferences   map[notification.Channel]TestPreference `yaml:"preferences"`
	CategoriesOff map[string][]notification.Channel       `yaml:"categories_off"`

	Line int `yaml:"-"`
}

// TestPreference holds a person's settings for a channel.
type TestPreference struct {
	Enabled         *bool   `yaml:"enabled"` // nil: true
	QuietHoursStart *string `yaml:"quiet_hours_start"`
	QuietHoursEnd   *string `yaml:"quiet_hours_end"`
	Priority        *string `yaml:"priority"` // nil: NORMAL
}
