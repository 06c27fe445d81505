package terminal

import (
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	// lineWidth is the width of lists in characters, unless long ids need more.
	lineWidth = 120
	// minLast is the smallest width of the last column: enough for a provider's answer with its
	// code.
	minLast = 36
	// columnGap is the number of spaces between two columns.
	columnGap = 2
)

// Row writes one line of a table, and makes its cells [Printable].
func Row(w io.Writer, cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			_, _ = fmt.Fprint(w, "\t")
		}
		_, _ = fmt.Fprint(w, Printable(fmt.Sprint(cell)))
	}
	_, _ = fmt.Fprintln(w)
}

// List writes a table with a line for each row. It cuts the last column at lineWidth.
func List[T any](w io.Writer, header []string, rows []T, cells func(T) []string) {
	last, before := len(header)-1, 0
	lines := [][]string{header}
	for _, row := range rows {
		lines = append(lines, cells(row))
	}
	for i := range last {
		widest := 0
		for _, cells := range lines {
			widest = max(widest, utf8.RuneCountInString(Printable(cells[i])))
		}
		before += widest + columnGap
	}
	room := max(minLast, lineWidth-before)
	for _, cells := range lines {
		line := make([]any, len(cells))
		for i, cell := range cells {
			line[i] = cell
		}
		line[last] = Cut(Printable(cells[last]), room)
		Row(w, line...)
	}
}

// More prints that a list was cut at its limit. next is the flag that lists the next rows; empty: no
// flag does.
func More(w io.Writer, next string) {
	if next == "" {
		Row(w, fmt.Sprintf("… and more: narrow it down, or raise --limit (at most %d)", maxListed))
		return
	}
	Row(w, fmt.Sprintf("… and more: narrow it down, raise --limit (at most %d), or add %s", maxListed, next))
}
