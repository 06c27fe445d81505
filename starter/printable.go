package main

import (
	"strings"
	"unicode"
)

// printable is a value as a terminal may have it: what the terminal would obey
// is replaced. Values come from producers, providers and Temporal; a line break
// in one of them could forge a row, an escape sequence could do worse.
func printable(value string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r), '\u2028' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
			return unicode.ReplacementChar
		default:
			return r // that of bytes that are no text is the replacement character, too
		}
	}, value)
}

// printableLines is a text of several lines: those behind the first are
// indented, so that none of them passes for one of ours.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n  ")
}
