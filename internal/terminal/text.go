package terminal

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Printable replaces all characters that a terminal obeys. Values come from producers, providers
// and Temporal: a line break could forge a row, and an escape sequence could do worse.
func Printable(value string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case obeyed(r):
			return unicode.ReplacementChar
		default:
			return r // strings.Map replaces invalid UTF-8, too
		}
	}, value)
}

// obeyed reports whether a terminal obeys a character: a control, a line separator, or a mark of
// writing direction, which can disguise a text.
func obeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// PrintableLines makes a text of several lines printable. It indents all lines except the first, so
// that none looks like a line of the command itself.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Printable(line)
	}
	return strings.Join(lines, "\n  ")
}

// Cut joins a text into one line, and cuts it at length characters.
func Cut(text string, length int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > length {
		return string(runes[:length-1]) + "…"
	}
	return text
}

// Clock prints a time in UTC to the millisecond, or "-" if there is none.
func Clock(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05.000Z")
}

// Dash returns the word, or "-" if it is empty.
func Dash[T ~string](word T) T {
	if word == "" {
		return "-"
	}
	return word
}

// Grouped prints a number such as 1,234.
func Grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
