package rules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.yaml.in/yaml/v3"

	"herald/internal/db"
)

// Exported tells what an export did.
type Exported struct {
	Rows    int      `json:"rows"`
	Written []string `json:"written"` // names of files
	Removed []string `json:"removed"`
}

// Export writes the rules of the database into a folder. In the files that the folder has, it changes
// only what differs. So comments, the order of keys and the spelling of equal values stay.
func Export(ctx context.Context, d *db.DB, dir string) (Exported, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Exported{}, fmt.Errorf("create the folder: %w", err)
	}
	folder, err := Load(dir)
	if err != nil && !errors.Is(err, errNoRules) {
		return Exported{}, err
	}
	e := exporting{Folder: folder, changed: map[*file]map[string]bool{}, written: map[string]string{}, removed: map[string]bool{}}
	var has state
	err = inSnapshot(ctx, d, func(tx pgx.Tx) (err error) {
		if e.Rows, err = folder.normalize(ctx, tx); err == nil {
			has, err = readState(ctx, tx, e.Rows)
		}
		return err
	})
	if err != nil {
		return Exported{}, err
	}
	if err := e.merge(has); err != nil {
		return Exported{}, err
	}
	done, err := e.save()
	done.Rows = len(has.rows)
	return done, err
}

// exporting is the state of one [Export].
type exporting struct {
	*Folder
	changed map[*file]map[string]bool // the keys of the sections that changed
	written map[string]string         // the contents of files by name
	removed map[string]bool           // the names of files
}

func (e *exporting) touch(f *file, section string) {
	if e.changed[f] == nil {
		e.changed[f] = map[string]bool{}
	}
	e.changed[f][section] = true
}

// merge makes the files have the rows of the database.
func (e *exporting) merge(has state) error {
	inFiles := map[string]bool{}
	for _, r := range e.Rows {
		inFiles[r.key] = true
		now, exists := has.rows[r.key]
		if !exists {
			e.remove(r)
			continue
		}
		for _, c := range r.of.columns {
			if value := now.values[c.name]; !reflect.DeepEqual(value, r.Values[c.name]) {
				if err := e.set(r, c, value); err != nil {
					return err
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(has.rows)) {
		if !inFiles[key] {
			if err := e.insert(has.rows[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes a row from its file.
func (e *exporting) remove(r Row) {
	e.touch(r.source, r.section.key)
	without(r.source.root, r.node)
	if r.textFile != "" {
		e.removed[r.textFile] = true
	}
}

// without removes a node, and the nodes around it that become empty. It reports whether it was found.
func without(from, node *yaml.Node) bool {
	step := 1
	if from.Kind == yaml.MappingNode {
		step = 2
	}
	for i := step - 1; i < len(from.Content); i += step {
		child := from.Content[i]
		if child == node || without(child, node) {
			if child == node || len(child.Content) == 0 {
				from.Content = slices.Delete(from.Content, i-step+1, i+1)
			}
			return true
		}
	}
	return false
}

// set changes a column of a row in its file.
func (e *exporting) set(r Row, c column, value any) error {
	if c.file && r.textFile != "" {
		e.written[r.textFile] = fmt.Sprint(value) + "\n"
		return nil
	}
	e.touch(r.source, r.section.key)
	if r.section.leaf == scalar {
		return replace(r.node, c, value)
	}
	become(r.node, yaml.MappingNode)
	names := []string{}
	for _, known := range r.of.columns {
		names = append(names, known.name)
	}
	if !c.required && reflect.DeepEqual(value, c.standard) {
		if old := child(r.node, c.name); old != nil {
			at := slices.Index(r.node.Content, old)
			r.node.Content = slices.Delete(r.node.Content, at-1, at+1)
		}
		return nil
	}
	return replace(childAt(r.node, c.name, names), c, value)
}

// insert adds a row to the file of its event type, or to the file of the installation.
func (e *exporting) insert(s stored) error {
	eventType := eventTypeOf(s.of, s.values)
	f := e.file(eventType)
	sections := f.sections()
	i := slices.IndexFunc(sections, func(c section) bool {
		return c.table == s.of && (s.of != templates || eventType == "" || s.values["event_type"] == eventType+c.suffix)
	})
	at := &sections[i]
	e.touch(f, at.key)
	keys := []string{}
	for _, c := range sections {
		keys = append(keys, c.key)
	}
	node := childAt(f.root, at.key, keys)
	for _, column := range at.nest {
		become(node, yaml.MappingNode)
		node = childAt(node, fmt.Sprint(s.values[column]), nil)
	}
	last := s.of.columns[len(s.of.columns)-1]
	switch at.leaf {
	case scalar:
		return replace(node, last, s.values[last.name])
	case set:
		become(node, yaml.SequenceNode)
		node.Style |= yaml.FlowStyle
		node.Content = append(node.Content, &yaml.Node{})
		return replace(node.Content[len(node.Content)-1], last, s.values[last.name])
	case rows:
		become(node, yaml.SequenceNode)
		node.Content = append(node.Content, &yaml.Node{})
		node = node.Content[len(node.Content)-1]
	}
	return e.row(node, at, eventType, s)
}

// row writes the columns of a row into a new node. The text of an e-mail goes into a separate file.
func (e *exporting) row(node *yaml.Node, at *section, eventType string, s stored) error {
	become(node, yaml.MappingNode)
	length := 0
	for _, c := range at.rowColumns(eventType != "") {
		value := s.values[c.name]
		if !c.required && reflect.DeepEqual(value, c.standard) {
			continue
		}
		if name := at.textFile(eventType, s.values); c.file && filepath.Ext(name) == htmlExtension && e.isFree(name) {
			e.written[name] = fmt.Sprint(value) + "\n"
			continue
		}
		if err := replace(childAt(node, c.name, nil), c, value); err != nil {
			return err
		}
		length += len(c.name) + len(fmt.Sprint(value)) + len(": , ")
		if said, _ := value.(string); strings.Contains(said, "\n") {
			length += shortRow
		}
	}
	if length <= shortRow {
		node.Style |= yaml.FlowStyle
	}
	return nil
}

// isFree reports whether no text is in a file of this name. An event type without letters has no files.
func (e *exporting) isFree(name string) bool {
	_, taken := e.written[name]
	return !taken && !e.texts[name] && !strings.HasPrefix(name, ".")
}

// shortRow is the length of a row that an export writes in one line.
const shortRow = 80

// file returns the file of an event type, which may be new.
func (e *exporting) file(eventType string) *file {
	name := installationFile
	if eventType != "" {
		name = fileOf(eventType)
	}
	i := slices.IndexFunc(e.files, func(f *file) bool { return f.eventType == eventType })
	if i < 0 {
		i = len(e.files)
		e.files = append(e.files, &file{name: name, eventType: eventType, root: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}})
	}
	return e.files[i]
}

// save writes the files that differ.
func (e *exporting) save() (done Exported, err error) {
	for f, sections := range e.changed {
		if len(f.root.Content) == 0 {
			e.removed[f.name] = true
			continue
		}
		text, err := f.text(sections)
		if err != nil {
			return done, err
		}
		e.written[f.name] = text
	}
	done = Exported{Written: slices.Sorted(maps.Keys(e.written)), Removed: slices.Sorted(maps.Keys(e.removed))}
	for _, name := range done.Written {
		if err := os.WriteFile(filepath.Join(e.Dir, name), []byte(e.written[name]), 0o644); err != nil {
			return done, fmt.Errorf("write the rules: %w", err)
		}
	}
	for _, name := range done.Removed {
		if err := os.Remove(filepath.Join(e.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return done, fmt.Errorf("remove what has no rules: %w", err)
		}
	}
	return done, nil
}

// text returns the file's YAML. The lines of sections that did not change stay as they are.
func (f *file) text(changed map[string]bool) (string, error) {
	var encoded strings.Builder
	encoder := yaml.NewEncoder(&encoded)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(f.root), encoder.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", f.name, err)
	}
	head, old := chunks(string(f.source))
	_, now := chunks(encoded.String())
	text := head
	for i, c := range now {
		before, had := find(old, c.key)
		switch {
		case had && !changed[c.key]:
			text += before.lines
		case had:
			text += leadingBlanks(before.lines) + strings.TrimLeft(c.lines, "\n")
		case i > 0:
			text += "\n" + strings.TrimLeft(c.lines, "\n")
		default:
			text += c.lines
		}
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
	}
	return text, nil
}
