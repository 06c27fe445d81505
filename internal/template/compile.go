package template

import (
	"cmp"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	texttemplate "text/template"
	"text/template/parse"

	"herald/internal/notification"
)

// compiled is one row that was parsed, or the error of that.
type compiled struct {
	title, body templatePart
	err         error
}

// templatePart is a title or a body.
type templatePart struct {
	name     string // title or body
	source   string
	template executable
}

// executable is a template of text/template or of html/template.
type executable interface {
	Execute(out io.Writer, data any) error
}

var errSourceTooLong = errors.New("the template is longer than 64 KiB")

// compile parses a row. A body that is HTML escapes what it is given; everything
// else is plain text.
func compile(row notification.Template) *compiled {
	title, titleErr := parsePart("title", row.Title, parseText)
	parseBody := parseText
	if notification.Channel(row.Channel).HTML() {
		parseBody = parseHTML
	}
	body, bodyErr := parsePart("body", row.Body, parseBody)
	return &compiled{title: title, body: body, err: cmp.Or(titleErr, bodyErr)}
}

func parsePart(name, source string, parse func(name, source string) (executable, error)) (templatePart, error) {
	if len(source) > maxBytes {
		return templatePart{}, fmt.Errorf("%s: %w", name, errSourceTooLong)
	}
	t, err := parse(name, source)
	if err != nil {
		// The cause quotes the template, which is no secret, but may be long.
		return templatePart{}, fmt.Errorf("cannot be parsed: %.200s", err)
	}
	return templatePart{name: name, source: source, template: t}, nil
}

func parseText(name, source string) (executable, error) {
	t, err := texttemplate.New(name).Option("missingkey=error").Funcs(functions()).Parse(source)
	if err != nil {
		return nil, err
	}
	for _, defined := range t.Templates() {
		addCheckpoints(defined.Tree)
	}
	return t, nil
}

func parseHTML(name, source string) (executable, error) {
	t, err := htmltemplate.New(name).Option("missingkey=error").Funcs(functions()).Parse(source)
	if err != nil {
		return nil, err
	}
	for _, defined := range t.Templates() {
		addCheckpoints(defined.Tree)
	}
	return t, nil
}

// addCheckpoints makes a template write an empty text wherever it could loop for
// ever: at the start of each loop's body and of the template itself. So its writer
// can stop it, even if it writes nothing else.
func addCheckpoints(tree *parse.Tree) {
	if tree == nil || tree.Root == nil {
		return
	}
	addToLoops(tree.Root)
	addCheckpoint(tree.Root)
}

func addToLoops(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.IfNode:
			addToLoops(n.List)
			addToLoops(n.ElseList)
		case *parse.WithNode:
			addToLoops(n.List)
			addToLoops(n.ElseList)
		case *parse.RangeNode:
			addToLoops(n.List)
			addToLoops(n.ElseList)
			addCheckpoint(n.List)
		}
	}
}

func addCheckpoint(list *parse.ListNode) {
	nothing := &parse.TextNode{NodeType: parse.NodeText, Pos: list.Pos}
	list.Nodes = append([]parse.Node{nothing}, list.Nodes...)
}
