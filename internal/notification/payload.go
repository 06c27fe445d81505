package notification

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// DecodePayload keeps the digits of numbers, so that long ids stay exact. If the payload is not
// JSON, the value is nil.
func DecodePayload(payload json.RawMessage) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, errors.New("the payload is not JSON") // the cause may quote the payload
	}
	return value, nil
}

// splitPaths returns the paths in their order of priority: customer.id,guest.id.
func splitPaths(text string) []string {
	paths := strings.Split(text, ",")
	for i := range paths {
		paths[i] = strings.TrimSpace(paths[i])
	}
	return paths
}

// PathFlaw explains why no payload can have a value at the paths; empty: they are fine. A path is
// a list of keys with dots between them.
func PathFlaw(text string) string {
	for _, path := range splitPaths(text) {
		bare := strings.TrimPrefix(strings.TrimPrefix(path, "$"), ".")
		switch {
		case strings.ContainsAny(path, "[]"):
			return path + " reads a list, but a path leads only through objects: have the producer write the value as a field of the payload"
		case strings.HasPrefix(path, "$") && bare != "":
			return path + " is not a path in Herald's form: write " + bare
		case slices.Contains(strings.Split(path, "."), ""):
			return path + " has an empty key: write keys with one dot between them, such as customer.id"
		}
	}
	return ""
}

// valueAt reads the value at a path of keys with dots between them; nil: there is none.
func valueAt(payload any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		object, ok := payload.(map[string]any)
		if !ok {
			return nil
		}
		payload = object[key]
	}
	return payload
}

// entityID reads an id from a payload. Only strings and whole numbers are ids.
func entityID(payload any, path string) (id string, found bool) {
	switch value := valueAt(payload, path).(type) {
	case string:
		return value, value != ""
	case json.Number:
		return wholeNumber(value.String())
	default:
		return "", false
	}
}

// wholeNumber returns the digits of a JSON number: 5 for 5, 5.0 and 50e-1.
func wholeNumber(number string) (digits string, whole bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	if exponent == "" && !strings.Contains(mantissa, ".") {
		return number, true
	}
	// A longer number is no id, and could be expensive to compute: 1e999999999.
	if size, err := strconv.Atoi("0" + strings.TrimLeft(exponent, "+-")); err != nil || size > maxEntityID || len(mantissa) > 2*maxEntityID {
		return "", false
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok || !value.IsInt() {
		return "", false
	}
	return value.Num().String(), true
}

// IDAt reads an id from the first of several comma-separated paths that has one; empty: none has.
func IDAt(payload json.RawMessage, paths string) string {
	decoded, _ := DecodePayload(payload)
	for _, path := range splitPaths(paths) {
		if id, found := entityID(decoded, path); found {
			return id
		}
	}
	return ""
}
