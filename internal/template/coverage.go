package template

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	texttemplate "text/template"
	"text/template/parse"

	"herald/internal/notification"
)

// Coverage records which rows of notification_template an [Engine] renders, and which branches of
// their {{if}}, {{with}} and {{range}} it takes.
type Coverage struct {
	mu    sync.Mutex
	parts map[partKey]branches
}

type partKey struct {
	row  key
	name string // title, body or url
}

// branches are the branches of one part, in all compilations of its row.
type branches map[branchKey]*branch

// branchKey is the place of an action in the source, and whether its condition holds. Copies that
// html/template makes of a template keep these places.
type branchKey struct {
	at    parse.Pos
	holds bool
}

type branch struct {
	text   string
	within *branch // nil: no other branch
	taken  bool
}

// Untaken is a branch that no rendering took.
type Untaken struct {
	Part   string // title, body or url
	Line   int    // within the part, from 1
	Branch string // {{if .payload.vip}}, or {{else}} of {{if .payload.vip}}
}

// Untaken returns the branches of a row that no rendering took, without those in such a branch. rendered
// is false if the row was never rendered.
func (c *Coverage) Untaken(row notification.Template) (untaken []Untaken, rendered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, part := range []struct{ name, source string }{{"title", row.Title}, {"body", row.Body}, {"url", row.URL}} {
		found, known := c.parts[partKey{keyOf(row), part.name}]
		rendered = rendered || known
		for _, at := range slices.SortedFunc(maps.Keys(found), branchKey.compare) {
			if b := found[at]; !b.taken && (b.within == nil || b.within.taken) {
				untaken = append(untaken, Untaken{part.name, 1 + strings.Count(part.source[:at.at], "\n"), b.text})
			}
		}
	}
	return untaken, rendered
}

func (k branchKey) compare(other branchKey) int {
	if order := cmp.Compare(k.at, other.at); order != 0 || k.holds == other.holds {
		return order
	}
	if k.holds {
		return -1
	}
	return 1
}

// watcher adds the recording to one part of a row. Nil records nothing.
type watcher struct {
	*Coverage
	found branches
}

// part returns the watcher of a part of a row.
func (c *Coverage) part(row notification.Template, name string) *watcher {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parts == nil {
		c.parts = map[partKey]branches{}
	}
	at := partKey{keyOf(row), name}
	if c.parts[at] == nil {
		c.parts[at] = branches{}
	}
	return &watcher{c, c.parts[at]}
}

// watch makes each action with branches report whether its condition holds.
func (w *watcher) watch(tree *parse.Tree) {
	if w == nil || tree == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list(tree.Root, nil)
}

func (w *watcher) list(list *parse.ListNode, within *branch) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.IfNode:
			w.branches(&n.BranchNode, "if", within)
		case *parse.WithNode:
			w.branches(&n.BranchNode, "with", within)
		case *parse.RangeNode:
			w.branches(&n.BranchNode, "range", within)
		}
	}
}

func (w *watcher) branches(n *parse.BranchNode, word string, within *branch) {
	text := fmt.Sprintf("{{%s %s}}", word, n.Pipe)
	w.list(n.List, w.add(branchKey{n.Pipe.Pos, true}, text, within))
	if n.ElseList != nil {
		w.list(n.ElseList, w.add(branchKey{n.Pipe.Pos, false}, "{{else}} of "+text, within))
	}
	at := n.Pipe.Pos
	report := call("_branch", at)
	report.Args = append(report.Args, &parse.NumberNode{
		NodeType: parse.NodeNumber, Pos: at, IsInt: true, Int64: int64(at), Text: fmt.Sprint(at),
	})
	n.Pipe.Cmds = append(n.Pipe.Cmds, report)
}

func (w *watcher) add(at branchKey, text string, within *branch) *branch {
	if w.found[at] == nil {
		w.found[at] = &branch{text: text, within: within}
	}
	return w.found[at]
}

// functions returns the function that a watched template calls with the value of each condition.
func (w *watcher) functions() map[string]any {
	if w == nil {
		return nil
	}
	return map[string]any{"_branch": func(at int, value any) any {
		holds, _ := texttemplate.IsTrue(value)
		w.mu.Lock()
		defer w.mu.Unlock()
		if b := w.found[branchKey{parse.Pos(at), holds}]; b != nil {
			b.taken = true
		}
		return value
	}}
}
