package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// lineWidth is what the lists keep to where ids let them, in characters.
	lineWidth = 120
	// minLast is what is left of the last column however long the others are: enough
	// for what a provider answered, with its code.
	minLast = 36
	// columnGap is between two columns of a table.
	columnGap = 2
)

// listing is a table whose last column, an error, is cut where the line ends.
type listing struct {
	header []string
	rows   [][]string
}

func (l *listing) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = printable(cell) // before it is measured
	}
	l.rows = append(l.rows, cells)
}

func (l *listing) print(w io.Writer) {
	last := len(l.header) - 1
	room := max(minLast, lineWidth-l.widthBefore(last))
	for _, cells := range append([][]string{l.header}, l.rows...) {
		line := make([]any, len(cells))
		for i, cell := range cells {
			line[i] = cell
		}
		line[last] = cut(cells[last], room)
		row(w, line...)
	}
}

// widthBefore is what the columns before the given one take.
func (l *listing) widthBefore(column int) int {
	width := 0
	for i := range column {
		widest := utf8.RuneCountInString(l.header[i])
		for _, cells := range l.rows {
			widest = max(widest, utf8.RuneCountInString(cells[i]))
		}
		width += widest + columnGap
	}
	return width
}

// printMore says that a list was cut at its limit.
func printMore(w io.Writer, more bool) {
	if more {
		row(w, fmt.Sprintf("… and more: narrow it down, or raise --limit (at most %d)", maxListed))
	}
}

// cut brings a text into one line of up to length characters.
func cut(text string, length int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > length {
		return string(runes[:length-1]) + "…"
	}
	return text
}

// seconds prints a time in a list.
func seconds(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
