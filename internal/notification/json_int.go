package notification

import (
	"encoding/json"
	"strconv"
)

// JSONInt is an integer in JSON that other programs read. JavaScript, and what else reads numbers as
// doubles, rounds those over [MaxJSONInt]. So they are texts. It reads both forms.
type JSONInt int64

// MaxJSONInt is the largest integer that a double holds exactly, together with all smaller ones.
const MaxJSONInt = 1<<53 - 1

// MarshalJSON implements [json.Marshaler].
func (n JSONInt) MarshalJSON() ([]byte, error) {
	digits := strconv.FormatInt(int64(n), 10)
	if n > MaxJSONInt || n < -MaxJSONInt {
		digits = `"` + digits + `"`
	}
	return []byte(digits), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *JSONInt) UnmarshalJSON(text []byte) error {
	if len(text) > 1 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	return json.Unmarshal(text, (*int64)(n))
}
