// Package replaytest picks and writes histories of workflows, which tests replay.
package replaytest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	historypb "go.temporal.io/api/history/v1"
)

// Corpus collects histories. It keeps few of them: together they show each transition between two
// steps that a history of the same workflow type shows. Which histories it keeps depends only on the
// histories, not on their order.
type Corpus struct {
	mu    sync.Mutex
	found map[string]recorded // by name
}

// recorded is a history without private data.
type recorded struct {
	name        string // workflow type, end, and a hash of the transitions
	kind        string // workflow type
	events      int
	transitions map[string]bool
	text        []byte
}

// longest limits the events of a history in a corpus. A longer one shows the same steps, in more of
// their orders.
const longest = 300

// Add adds a history, unless it is long. Of the histories with the same transitions, the shortest
// remains.
func (c *Corpus) Add(events []*historypb.HistoryEvent) error {
	if len(events) > longest {
		return nil
	}
	text, err := write(clean(events))
	if err != nil {
		return err
	}
	r := recorded{kind: TypeOf(events), events: len(events), transitions: transitions(events), text: text}
	r.name = r.kind + "-" + endOf(events) + "-" + hashOf(r.transitions)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[string]recorded{}
	}
	if other, known := c.found[r.name]; !known || r.compare(other) < 0 {
		c.found[r.name] = r
	}
	return nil
}

// TypeOf returns the workflow type of a history.
func TypeOf(events []*historypb.HistoryEvent) string {
	return events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()
}

func hashOf(transitions map[string]bool) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(transitions)), "\n")))
	return hex.EncodeToString(sum[:4])
}

// compare orders the histories of a type: short ones first.
func (r recorded) compare(other recorded) int {
	return cmp.Or(cmp.Compare(r.kind, other.kind), cmp.Compare(r.events, other.events),
		cmp.Compare(r.name, other.name), bytes.Compare(r.text, other.text))
}

// kept returns the histories to keep. It takes each history, the short ones first, that shows a new
// transition, and then leaves out histories whose transitions the other ones show.
func (c *Corpus) kept() []recorded {
	c.mu.Lock()
	defer c.mu.Unlock()
	shown := map[string]int{} // the number of kept histories, by type and transition
	var kept []recorded
	for _, r := range slices.SortedFunc(maps.Values(c.found), recorded.compare) {
		if r.shows(shown, 0) {
			kept = append(kept, r)
			r.count(shown, 1)
		}
	}
	var needed []recorded
	for _, r := range kept {
		if r.shows(shown, 1) {
			needed = append(needed, r)
		} else {
			r.count(shown, -1)
		}
	}
	return needed
}

// shows reports whether a transition of the history is in at most this number of kept histories.
func (r recorded) shows(shown map[string]int, most int) bool {
	for transition := range r.transitions {
		if shown[r.kind+transition] <= most {
			return true
		}
	}
	return false
}

func (r recorded) count(shown map[string]int, by int) {
	for transition := range r.transitions {
		shown[r.kind+transition] += by
	}
}

// Load adds the histories of a folder that a condition accepts. The folder may be missing.
func (c *Corpus) Load(dir string, accepts func([]*historypb.HistoryEvent) bool) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		events, err := Read(path)
		if err == nil && accepts(events) {
			err = c.Add(events)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Write replaces the histories of a folder by the kept ones, and returns their number.
func (c *Corpus) Write(dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	former, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return 0, err
	}
	for _, path := range former {
		if err := os.Remove(path); err != nil {
			return 0, err
		}
	}
	kept := c.kept()
	for _, r := range kept {
		if err := os.WriteFile(filepath.Join(dir, r.name+".json"), r.text, 0o644); err != nil {
			return 0, err
		}
	}
	return len(kept), nil
}
