package rules

// Test is a test of the rules of an event type.
type Test struct {
	Name    string                       `yaml:"name"`
	At      string                       `yaml:"at,omitempty"` // RFC 3339
	Payload map[string]any               `yaml:"payload,omitempty"`
	People  []TestPerson                 `yaml:"people,omitempty"`
	Expect  map[string]map[string]string `yaml:"expect,omitempty"` // the decisions by recipient and channel
	Texts   map[string]map[string]Text   `yaml:"texts,omitempty"`  // by recipient and channel
}

// TestPerson is a row of the directory during a test.
type TestPerson struct {
	Is       string `yaml:"is"`               // RESTAURANT_USER/10
	Member   string `yaml:"member,omitempty"` // RESTAURANT/5
	Role     string `yaml:"role,omitempty"`
	Name     string `yaml:"name,omitempty"`
	Email    string `yaml:"email,omitempty"`
	Phone    string `yaml:"phone,omitempty"`
	Locale   string `yaml:"locale,omitempty"`
	Timezone string `yaml:"timezone,omitempty"`
}

// Text is the text that a recipient reads.
type Text struct {
	Title string `yaml:"title,omitempty"`
	Body  string `yaml:"body,omitempty"`
	URL   string `yaml:"url,omitempty"`
}
