package config

import (
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// string returns a text that is not empty; "" where it is not there, or is no text.
func (m mapping) string(key string) string {
	node, there := m.values[key]
	if !there {
		return ""
	}
	text, isText := node.(*ast.StringNode)
	switch {
	case !isText:
		m.refuse(m.lines[key], "%s must be text, in quotes where it has braces or is a number", key)
		return ""
	case strings.TrimSpace(text.Value) == "":
		m.refuse(m.lines[key], "%s is empty", key)
		return ""
	default:
		return text.Value
	}
}

// duration returns one within bounds, or the default where it is not there.
func (m mapping) duration(key string, unset, low, high time.Duration) time.Duration {
	node, there := m.values[key]
	if !there {
		return unset
	}
	text, _ := node.(*ast.StringNode)
	if text == nil {
		m.refuse(m.lines[key], "%s must be a duration such as 5s", key)
		return unset
	}
	value, err := time.ParseDuration(text.Value)
	if err != nil || value < low || value > high {
		m.refuse(m.lines[key], "%s must be a duration from %s to %s", key, low, high)
	}
	return value
}

// number is [mapping.duration] for whole numbers.
func (m mapping) number(key string, unset, low, high int) int {
	node, there := m.values[key]
	if !there {
		return unset
	}
	whole, _ := node.(*ast.IntegerNode)
	if whole != nil {
		if value, isSmall := whole.Value.(uint64); isSmall && value >= uint64(low) && value <= uint64(high) {
			return int(value)
		}
	}
	m.refuse(m.lines[key], "%s must be a whole number from %d to %d", key, low, high)
	return unset
}

// bool returns false where the key is not there.
func (m mapping) bool(key string) bool {
	node, there := m.values[key]
	if !there {
		return false
	}
	value, isBool := node.(*ast.BoolNode)
	if !isBool {
		m.refuse(m.lines[key], "%s must be true or false", key)
		return false
	}
	return value.Value
}
