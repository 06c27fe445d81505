package template

import (
	"cmp"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"regexp"
	texttemplate "text/template"
	"text/template/parse"

	"herald/internal/notification"
)

// compiled is a parsed row, or its parse error.
type compiled struct {
	title, body, url templatePart
	err              error // of title or body
	urlErr           error
}

// templatePart is a title, a body or a url.
type templatePart struct {
	name     string // title, body or url
	source   string
	template executable
}

// executable is a template of text/template or of html/template.
type executable interface {
	Execute(out io.Writer, data any) error
}

var errSourceTooLong = errors.New("the template is longer than 64 KiB")

// compile parses a row. An HTML body escapes its data; everything else is plain text.
func compile(row notification.Template) *compiled {
	title, titleErr := parsePart("title", row.Title, parseText)
	parseBody := parseText
	if notification.Channel(row.Channel).HTML() {
		parseBody = parseHTML
	}
	body, bodyErr := parsePart("body", row.Body, parseBody)
	url, urlErr := parsePart("url", row.URL, parseText)
	return &compiled{title: title, body: body, url: url, err: cmp.Or(titleErr, bodyErr), urlErr: urlErr}
}

func parsePart(name, source string, parse func(name, source string) (executable, error)) (templatePart, error) {
	if len(source) > maxBytes {
		return templatePart{}, fmt.Errorf("%s: %w", name, errSourceTooLong)
	}
	t, err := parse(name, source)
	if err != nil {
		// The cause quotes the template, which is not secret but may be long.
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

// addCheckpoints makes a template write an empty text at the start of each loop's body and of the
// template itself. So its writer can stop an endless loop that writes nothing else.
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

// functions limits the functions of text/template that could fill the memory: with a text that a
// loop appends to itself, or with a number a million columns wide.
func functions() map[string]any {
	return map[string]any{
		"print":    bounded(fmt.Sprint),
		"println":  bounded(fmt.Sprintln),
		"html":     bounded(texttemplate.HTMLEscaper),
		"js":       bounded(texttemplate.JSEscaper),
		"urlquery": bounded(texttemplate.URLQueryEscaper),
		"printf":   boundedPrintf,
	}
}

func bounded(f func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		return fit(f(args...))
	}
}

// maxFormat is in bytes.
const maxFormat = 256

var (
	errFormat = errors.New("the format of printf is longer than 256 bytes, or wider than 999 columns")
	// tooWide matches a width or precision with four digits or from an argument.
	tooWide = regexp.MustCompile(`[0-9]{4}|\*`)
)

func boundedPrintf(format string, args ...any) (string, error) {
	if len(format) > maxFormat || tooWide.MatchString(format) {
		return "", errFormat
	}
	return fit(fmt.Sprintf(format, args...))
}

func fit(text string) (string, error) {
	if len(text) > maxBytes {
		return "", errTooLong
	}
	return text, nil
}
