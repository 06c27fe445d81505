package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// child returns the value of a key, or nil.
func child(node *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// childAt returns the value of a key, which it adds if it is missing: before the keys that come later
// in the order.
func childAt(node *yaml.Node, key string, order []string) *yaml.Node {
	if found := child(node, key); found != nil {
		return found
	}
	at := len(node.Content)
	place := slices.Index(order, key)
	for i := 0; i < len(node.Content) && place >= 0; i += 2 {
		if other := slices.Index(order, node.Content[i].Value); other > place || other < 0 {
			at = i
			break
		}
	}
	name := &yaml.Node{}
	name.SetString(key)
	added := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	node.Content = slices.Insert(node.Content, at, name, added)
	return added
}

// become makes a mapping or a list of a node without a value.
func become(node *yaml.Node, kind yaml.Kind) {
	if node.Kind == kind {
		return
	}
	node.Kind, node.Value, node.Tag = kind, "", "!!map"
	if kind == yaml.SequenceNode {
		node.Tag = "!!seq"
	}
}

// replace gives a node another value, and keeps its comments.
func replace(node *yaml.Node, c column, value any) error {
	now, err := valueNode(shown(c, value))
	if err != nil {
		return fmt.Errorf("write %s: %w", c.name, err)
	}
	if c.kind == list {
		now.Style = yaml.FlowStyle
	}
	node.Kind, node.Tag, node.Value, node.Style, node.Content = now.Kind, now.Tag, now.Value, now.Style, now.Content
	return nil
}

// unsafeInBlock matches texts that a literal block would change, or that the library cannot write as
// one.
var unsafeInBlock = regexp.MustCompile("^[ \n]|[\t\r\u0085\u2028\u2029]|(?m: $)")

func valueNode(value any) (node yaml.Node, err error) {
	said, isText := value.(string)
	switch {
	case !isText || !strings.ContainsAny(said, "\n\r\u0085\u2028\u2029"):
		err = node.Encode(value)
	case unsafeInBlock.MatchString(said):
		node = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: said, Style: yaml.DoubleQuotedStyle}
	default:
		node = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: said, Style: yaml.LiteralStyle}
	}
	return node, err
}

// chunk is a key of a file with its lines: its comments, and all lines below it.
type chunk struct {
	key, lines string
}

func find(in []chunk, key string) (chunk, bool) {
	i := slices.IndexFunc(in, func(c chunk) bool { return c.key == key })
	if i < 0 {
		return chunk{}, false
	}
	return in[i], true
}

// chunks cuts a file at its keys. head holds the lines before the comments of the first key.
func chunks(source string) (head string, found []chunk) {
	var document yaml.Node
	lines := strings.SplitAfter(source, "\n")
	if yaml.Unmarshal([]byte(source), &document) != nil || len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return source, nil
	}
	root := document.Content[0]
	end := len(lines)
	for i := len(root.Content) - 2; i >= 0; i -= 2 {
		start := root.Content[i].Line - 1
		isAbove := func(line string) bool { return strings.HasPrefix(line, "#") || i > 0 && strings.TrimSpace(line) == "" }
		for start > 0 && isAbove(lines[start-1]) {
			start--
		}
		found = append(found, chunk{root.Content[i].Value, strings.Join(lines[start:end], "")})
		end = start
	}
	slices.Reverse(found)
	return strings.Join(lines[:end], ""), found
}

func leadingBlanks(lines string) string {
	return lines[:len(lines)-len(strings.TrimLeft(lines, "\n"))]
}
