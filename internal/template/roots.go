package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	texttemplate "text/template"
	"text/template/parse"

	"herald/internal/notification"
)

// roots maps the fields that a template may begin with to their subfields. Nil allows any
// subfield.
type roots map[string][]string

// rootsOf returns the fields that the templates of an event type may use.
func rootsOf(eventType string) roots {
	all := roots{
		"event":     slices.Sorted(maps.Keys(eventData(notification.Event{}))),
		"recipient": slices.Sorted(maps.Keys(recipientData(notification.Recipient{}))),
	}
	if isDigest(eventType) {
		all["Items"], all["event"] = nil, []string{"type"}
	} else {
		all["payload"] = nil
	}
	for _, name := range reasonNames {
		all[name] = nil
	}
	return all
}

// checkRoots refuses templates that name a field which no event has. It checks the template's own
// dot, but not the dot of a range or a with.
func checkRoots(eventType string, sources ...string) error {
	for _, source := range sources {
		t, err := texttemplate.New("").Funcs(functions()).Parse(source)
		if err != nil || t.Tree == nil {
			continue // compile reports it
		}
		if err := rootsOf(eventType).check(t.Tree.Root, true); err != nil {
			return err
		}
	}
	return nil
}

// check checks a node and all nodes below it. atRoot reports whether the dot is the template's
// own.
func (r roots) check(node parse.Node, atRoot bool) error {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		return checkEach(n.Nodes, func(node parse.Node) error { return r.check(node, atRoot) })
	case *parse.ActionNode:
		return r.check(n.Pipe, atRoot)
	case *parse.IfNode:
		return checkEach([]parse.Node{n.Pipe, n.List, n.ElseList}, func(node parse.Node) error { return r.check(node, atRoot) })
	case *parse.WithNode:
		return r.checkBranch(&n.BranchNode, atRoot)
	case *parse.RangeNode:
		return r.checkBranch(&n.BranchNode, atRoot)
	case *parse.TemplateNode:
		return r.check(n.Pipe, atRoot)
	case *parse.PipeNode:
		if n == nil {
			return nil
		}
		return checkEach(n.Cmds, func(command *parse.CommandNode) error {
			return checkEach(command.Args, func(node parse.Node) error { return r.check(node, atRoot) })
		})
	case *parse.ChainNode:
		return r.check(n.Node, atRoot)
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			return r.checkField(n.Ident[1:])
		}
	case *parse.FieldNode:
		if atRoot {
			return r.checkField(n.Ident)
		}
	}
	return nil
}

// checkBranch checks a with or a range, whose list has another dot.
func (r roots) checkBranch(n *parse.BranchNode, atRoot bool) error {
	if err := r.check(n.Pipe, atRoot); err != nil {
		return err
	}
	if err := r.check(n.List, false); err != nil {
		return err
	}
	return r.check(n.ElseList, atRoot)
}

func checkEach[T any](all []T, check func(T) error) error {
	for _, one := range all {
		if err := check(one); err != nil {
			return err
		}
	}
	return nil
}

func (r roots) checkField(names []string) error {
	field := "." + strings.Join(names, ".")
	known, found := r[names[0]]
	_, ofEvent := r["payload"]
	switch {
	case !found && ofEvent:
		return fmt.Errorf("it names {{%s}}, which no event has: write {{.payload%[1]s}}, or begin with .recipient or .event, or "+
			"write .reason, .mute_url or .preferences_url", field)
	case !found:
		return fmt.Errorf("it names {{%s}}, which no digest has: a digest has .Items, .recipient, .event.type, .reason, "+
			".mute_url and .preferences_url", field)
	case len(names) > 1 && known != nil && !slices.Contains(known, names[1]):
		return fmt.Errorf("it names {{%s}}, but .%s has only %s", field, names[0], strings.Join(known, ", "))
	default:
		return nil
	}
}
