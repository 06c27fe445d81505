package notification

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// decodePayload keeps numbers as they are written, so that no long id loses
// digits. Of a payload that is no JSON it returns nil, in which nothing is found.
func decodePayload(payload json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

// splitPaths are the places to look for a value, in this order: customer.id,guest.id.
func splitPaths(text string) []string {
	paths := strings.Split(text, ",")
	for i := range paths {
		paths[i] = strings.TrimSpace(paths[i])
	}
	return paths
}

// PathFlaw says why no payload can have a value at some paths; empty: one may. A path has
// keys with dots between them.
func PathFlaw(text string) string {
	for _, path := range splitPaths(text) {
		bare := strings.TrimPrefix(strings.TrimPrefix(path, "$"), ".")
		switch {
		case strings.ContainsAny(path, "[]"):
			return path + " reads a list, and a path goes through objects alone: have the producer write the value as a field of the payload"
		case strings.HasPrefix(path, "$") && bare != "":
			return path + " is no path of Herald's: write " + bare
		case slices.Contains(strings.Split(path, "."), ""):
			return path + " has an empty key: write keys with one dot between them, such as customer.id"
		}
	}
	return ""
}

// valueAt reads a value from a payload, at a path of keys with dots between them;
// nil: there is none.
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

// entityID reads an id from a payload. Only a string and a whole number are ids.
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
	// What is longer is no id, and could cost much to work out: 1e999999999.
	if size, err := strconv.Atoi("0" + strings.TrimLeft(exponent, "+-")); err != nil || size > maxEntityID || len(mantissa) > 2*maxEntityID {
		return "", false
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok || !value.IsInt() {
		return "", false
	}
	return value.Num().String(), true
}

// IDAt reads an id from a payload at the first of several paths, separated by commas, that
// has one; empty: none has.
func IDAt(payload json.RawMessage, paths string) string {
	decoded := decodePayload(payload)
	for _, path := range splitPaths(paths) {
		if id, found := entityID(decoded, path); found {
			return id
		}
	}
	return ""
}
