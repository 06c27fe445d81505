package template

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	texttemplate "text/template"
	"text/template/parse"

	"herald/internal/notification"
)

// compiled is a parsed row, or its parse error.
type compiled struct {
	title, body, url, layout templatePart
	err                      error // of title, body or layout
	urlErr                   error
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

// compile parses a row. A body with markup escapes its data.
func (e Engine) compile(row notification.Template) *compiled {
	parseBody := parseText
	switch notification.Channel(row.Channel).Markup() {
	case notification.HTML:
		parseBody = e.parseHTML
	case notification.Mrkdwn:
		parseBody = parseMrkdwn
	}
	title, titleErr := parsePart("title", row.Title, parseText, e.Coverage.part(row, "title"))
	body, bodyErr := parsePart("body", row.Body, parseBody, e.Coverage.part(row, "body"))
	url, urlErr := parsePart("url", row.URL, parseText, e.Coverage.part(row, "url"))
	layout, layoutErr := e.layoutPart(row)
	return &compiled{title: title, body: body, url: url, layout: layout, err: cmp.Or(titleErr, bodyErr, layoutErr), urlErr: urlErr}
}

// parser parses the source of a part. A watcher records the branches that its executions take.
type parser func(name, source string, w *watcher) (executable, error)

func parsePart(name, source string, parse parser, w *watcher) (templatePart, error) {
	if len(source) > maxBytes {
		return templatePart{}, fmt.Errorf("%s: %w", name, errSourceTooLong)
	}
	t, err := parse(name, source, w)
	if err != nil {
		return templatePart{}, err
	}
	return templatePart{name: name, source: source, template: t}, nil
}

// unparsable is a mistake in a template. The cause quotes the template, which is not secret but may be
// long.
func unparsable(cause error) error { return fmt.Errorf("cannot be parsed: %.200s", cause) }

func parseText(name, source string, w *watcher) (executable, error) {
	return parsePlain(name, source, shown, w)
}

func parseMrkdwn(name, source string, w *watcher) (executable, error) {
	return parsePlain(name, source, mrkdwnData, w)
}

// parsePlain parses a template of text/template, in which each value passes through print.
func parsePlain(name, source string, print any, w *watcher) (executable, error) {
	t, err := texttemplate.New(name).Option("missingkey=error").Funcs(functions()).Parse(source)
	if err != nil {
		return nil, unparsable(err)
	}
	for _, defined := range t.Templates() {
		eachNode(defined.Tree, func(node parse.Node) []parse.Node {
			if action, ok := node.(*parse.ActionNode); ok && len(action.Pipe.Decl) == 0 {
				action.Pipe.Cmds = append(action.Pipe.Cmds, call("_print", action.Pos))
			}
			return []parse.Node{node}
		})
		w.watch(defined.Tree)
		prepare(defined.Tree)
	}
	return t.Funcs(map[string]any{"_print": print, "_each": each}).Funcs(w.functions()), nil
}

// prepare makes a template write an empty text at the start of each loop's body and of itself. So its
// writer can stop an endless loop that writes nothing else.
func prepare(tree *parse.Tree) {
	eachNode(tree, func(node parse.Node) []parse.Node {
		if loop, ok := node.(*parse.RangeNode); ok {
			loop.Pipe.Cmds = append(loop.Pipe.Cmds, call("_each", loop.Pos))
			addCheckpoint(loop.List)
		}
		return []parse.Node{node}
	})
	if tree != nil && tree.Root != nil {
		addCheckpoint(tree.Root)
	}
}

// eachNode replaces each node of a template by the nodes that edit returns, from the inside out.
func eachNode(tree *parse.Tree, edit func(parse.Node) []parse.Node) {
	if tree != nil {
		editList(tree.Root, edit)
	}
}

func editList(list *parse.ListNode, edit func(parse.Node) []parse.Node) {
	if list == nil {
		return
	}
	var nodes []parse.Node
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.IfNode:
			editBranch(&n.BranchNode, edit)
		case *parse.WithNode:
			editBranch(&n.BranchNode, edit)
		case *parse.RangeNode:
			editBranch(&n.BranchNode, edit)
		}
		nodes = append(nodes, edit(node)...)
	}
	list.Nodes = nodes
}

func editBranch(n *parse.BranchNode, edit func(parse.Node) []parse.Node) {
	editList(n.List, edit)
	editList(n.ElseList, edit)
}

func addCheckpoint(list *parse.ListNode) {
	nothing := &parse.TextNode{NodeType: parse.NodeText, Pos: list.Pos}
	list.Nodes = append([]parse.Node{nothing}, list.Nodes...)
}

// call returns a command that passes the pipeline's value through a function which templates cannot
// call themselves: it is added after they are parsed.
func call(function string, at parse.Pos) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at, Args: []parse.Node{parse.NewIdentifier(function).SetPos(at)}}
}
