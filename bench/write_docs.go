package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// documents have tables that a run of the whole table writes, by their names.
var documents = map[string]map[string]func(r *tableReport) string{
	"docs/performance.md": {"goals": goalTable, "costs": costTable, "machine": machineLine},
	"docs/scale.md":       {"costs": scaleCosts, "load": scaleLoad, "machine": machineLine},
}

// writeDocs writes what was found into the documents.
func (r *tableReport) writeDocs() error {
	for file, tables := range documents {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		written := string(text)
		for name, table := range tables {
			if written, err = replaceTable(written, name, table(r)); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		if err := os.WriteFile(file, []byte(written), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// replaceTable replaces what a document has between two comments.
func replaceTable(document, name, table string) (string, error) {
	begin, end := "<!-- make bench ARGS=--write-docs: "+name+" -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(document, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("it has no place for %q, between %q and %q", name, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin + "\n" + table + "\n" + end + after, nil
}

// machineLine says on what was measured, and how much.
func machineLine(r *tableReport) string {
	var cases []string
	for _, c := range r.Cases {
		cases = append(cases, fmt.Sprintf("`%s` (%s)", c.Name, c.sizes()))
	}
	return fmt.Sprintf("Measured on %s, on %s UTC: %s.\n", r.machine(), r.At.Format("2006-01-02 15:04"), strings.Join(cases, ", "))
}

// sizes are how many rounds of what.
func (c caseResult) sizes() string {
	text := c.pairs()
	encoded, _ := json.Marshal(c.Sizes)
	for _, size := range strings.Split(strings.Trim(string(encoded), "{}"), ",") {
		if name, value, found := strings.Cut(size, ":"); found {
			text += ", " + strings.ReplaceAll(strings.Trim(name, `"`), "_", " ") + " " + value
		}
	}
	return text
}

// goalTable has a row for each goal.
func goalTable(r *tableReport) string {
	rows := [][]string{{"case", "figure", "A: Herald", "B: beside it", "A/B", "to reach", ""}}
	for _, c := range r.Cases {
		for _, j := range c.Goals {
			f := c.figure(j.Figure)
			rows = append(rows, []string{c.Name, f.label(), f.A.text(), f.B.text(), f.Ratio.text(), j.ToReach, j.verdict()})
		}
	}
	return markdown(rows)
}

// costTable has a row for each figure that has no goal.
func costTable(r *tableReport) string {
	rows := [][]string{{"case", "figure", "A: Herald", "B: beside it", "A/B"}}
	for _, c := range r.Cases {
		for _, f := range c.Figures {
			if c.goalsOf(f.Name) == "" {
				rows = append(rows, []string{c.Name, f.label(), f.A.middle(), f.B.middle(), f.Ratio.middle()})
			}
		}
	}
	return markdown(rows)
}

// text is the middle with the spread.
func (s *series) text() string { return strings.TrimSpace(s.middle() + " " + s.spread()) }

// verdict says whether a goal is reached, and if not how far it was.
func (j judgement) verdict() string {
	if j.Reached {
		return "reached (" + number(j.Value) + ")"
	}
	return "**missed** (" + number(j.Value) + ")"
}

// figure is one of a case's; without one it is empty.
func (c caseResult) figure(name string) compared {
	for _, f := range c.Figures {
		if f.Name == name {
			return f
		}
	}
	return compared{Name: name}
}

// markdown is a table whose first row is its head.
func markdown(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}
