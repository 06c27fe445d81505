package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Mistake is a part of a payload that its schema refuses.
type Mistake struct {
	Path    string // a JSON pointer; empty: the whole payload
	Problem string // what was expected, without the payload's value
}

// String returns the mistake as "/guests: must be integer, and is string".
func (m Mistake) String() string { return strings.TrimPrefix(m.Path+": "+m.Problem, ": ") }

// mistakes returns the mistakes below a finding of the library, each once.
func mistakes(found *jsonschema.ValidationError) (all []Mistake) {
	for _, mistake := range below(found) {
		if len(all) < maxMistakes && !slices.Contains(all, mistake) {
			all = append(all, mistake)
		}
	}
	return all
}

func below(found *jsonschema.ValidationError) (all []Mistake) {
	here := pointer(found.InstanceLocation)
	switch is := found.ErrorKind.(type) {
	case *kind.Required:
		for _, key := range is.Missing {
			all = append(all, Mistake{here + pointer([]string{key}), "is missing"})
		}
		return all
	case *kind.AdditionalProperties:
		for _, key := range is.Properties {
			all = append(all, Mistake{here + pointer([]string{key}), "is not allowed: the schema has no such key"})
		}
		return all
	case *kind.AnyOf, *kind.OneOf:
		return []Mistake{{here, "must fit " + found.ErrorKind.KeywordPath()[0] + alternatives(found.Causes, here)}}
	}
	if len(found.Causes) == 0 {
		return []Mistake{{here, expected(found.ErrorKind)}}
	}
	for _, cause := range found.Causes {
		all = append(all, below(cause)...)
	}
	return all
}

// alternatives returns why none of a few schemas fits a place: " (/id: is missing; or /key: is missing)".
func alternatives(causes []*jsonschema.ValidationError, here string) string {
	var why []string
	for _, cause := range causes[:min(len(causes), maxAlternatives)] {
		mistake := below(cause)[0]
		if mistake.Path == here {
			mistake.Path = ""
		}
		why = append(why, mistake.String())
	}
	if why == nil {
		return ", and fits more than one of its schemas"
	}
	return " (" + strings.Join(why, "; or ") + ")"
}

const (
	// maxAlternatives limits the schemas of anyOf and oneOf in a text.
	maxAlternatives = 5
	// maxText limits a part of the schema in a text, in bytes.
	maxText = 200
)

// expected returns the requirement that a value does not meet.
func expected(of jsonschema.ErrorKind) string {
	switch is := of.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s, and is %s", strings.Join(is.Want, " or "), is.Got)
	case *kind.Enum:
		return "must be one of " + text(is.Want)
	case *kind.Const:
		return "must be " + text(is.Want)
	case *kind.Format:
		return "must be a " + is.Want
	case *kind.Pattern:
		return "must match " + shortened(is.Want)
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters, and has %d", is.Want, is.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters, and has %d", is.Want, is.Got)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items, and has %d", is.Want, is.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items, and has %d", is.Want, is.Got)
	case *kind.Minimum:
		return "must be at least " + decimal(is.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(is.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(is.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(is.Want)
	case *kind.DependentRequired:
		return fmt.Sprintf("must have %s if it has %s", strings.Join(is.Missing, ", "), is.Prop)
	case *kind.FalseSchema:
		return "is not allowed"
	}
	return strings.TrimSpace("does not fit " + strings.Join(of.KeywordPath(), " "))
}

func decimal(number *big.Rat) string {
	float, _ := number.Float64()
	return strconv.FormatFloat(float, 'f', -1, 64)
}

func text(value any) string {
	encoded, _ := json.Marshal(value) // it came from JSON
	return shortened(string(encoded))
}

func shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer returns a JSON pointer to a place.
func pointer(place []string) (path string) {
	for _, key := range place {
		path += "/" + escapes.Replace(key)
	}
	return path
}

// maxExponent limits the exponents of numbers. The library computes each number with all its digits.
const maxExponent = 1000

// tooBig returns the first number below a place with a larger exponent; nil: there is none.
func tooBig(value any, path string) *Mistake {
	switch value := value.(type) {
	case json.Number:
		if _, exponent, has := strings.Cut(strings.ToLower(value.String()), "e"); has {
			if n, err := strconv.Atoi(exponent); err != nil || n > maxExponent || n < -maxExponent {
				return &Mistake{path, fmt.Sprintf("is a number with an exponent over %d", maxExponent)}
			}
		}
	case []any:
		for i, item := range value {
			if found := tooBig(item, path+"/"+strconv.Itoa(i)); found != nil {
				return found
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if found := tooBig(value[key], path+pointer([]string{key})); found != nil {
				return found
			}
		}
	}
	return nil
}
