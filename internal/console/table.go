package console

import (
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	// lineWidth is how wide lists are, in characters, unless their ids need more.
	lineWidth = 120
	// minLast is the least width of the last column: enough for a provider's answer
	// with its code.
	minLast = 36
	// columnGap is between two columns of a table.
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

// Listing is a table whose last column is cut where the line ends.
type Listing struct {
	Header []string
	rows   [][]string
}

// Add adds a row with as many cells as the header.
func (l *Listing) Add(cells ...string) {
	for i, cell := range cells {
		cells[i] = Printable(cell) // before it is measured
	}
	l.rows = append(l.rows, cells)
}

// Print writes the header and the rows.
func (l *Listing) Print(w io.Writer) {
	last := len(l.Header) - 1
	room := max(minLast, lineWidth-l.widthBefore(last))
	for _, cells := range append([][]string{l.Header}, l.rows...) {
		line := make([]any, len(cells))
		for i, cell := range cells {
			line[i] = cell
		}
		line[last] = Cut(cells[last], room)
		Row(w, line...)
	}
}

// widthBefore is the width of the columns before the given one.
func (l *Listing) widthBefore(column int) int {
	width := 0
	for i := range column {
		widest := utf8.RuneCountInString(l.Header[i])
		for _, cells := range l.rows {
			widest = max(widest, utf8.RuneCountInString(cells[i]))
		}
		width += widest + columnGap
	}
	return width
}
