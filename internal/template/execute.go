package template

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	errTooLong = errors.New("longer than 64 KiB")
	errTooSlow = errors.New("took longer than 100 ms")
)

// render executes a part. The errors of the template packages may quote the data, so it returns
// its own errors.
func (p templatePart) render(ctx context.Context, data map[string]any) (text string, err error) {
	defer func() {
		if recover() != nil {
			text, err = "", fmt.Errorf("%s cannot be rendered", p.name)
		}
	}()
	out := &limited{ctx: ctx, start: time.Now()}
	if err := p.template.Execute(out, data); err != nil {
		return "", p.explain(err)
	}
	text = storable(out.text.String())
	if len(text) > maxBytes {
		return "", fmt.Errorf("%s: %w", p.name, errTooLong)
	}
	return text, nil
}

// storable removes the characters that Postgres refuses. A template may cut a character in two.
// Without this, a whole page of deliveries could not be stored.
func storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
}

// limited stores a template's output, and stops a template that writes too much or for too long.
type limited struct {
	ctx    context.Context // the context of the caller
	text   bytes.Buffer
	start  time.Time
	writes int
}

// fewWrites is the number of writes that may take up to ten times maxTime. So few writes are
// never slow, but a busy machine may pause between them.
const fewWrites = 256

func (w *limited) Write(p []byte) (int, error) {
	w.writes++
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	took := time.Since(w.start)
	if took > maxTime && (w.writes > fewWrites || took > 10*maxTime) {
		return 0, errTooSlow
	}
	if w.text.Len()+len(p) > maxBytes {
		return 0, errTooLong
	}
	return w.text.Write(p)
}

// Errors of the template packages. A key of null or of a plain value counts as missing, like a
// key of an object.
var (
	missingKey = regexp.MustCompile(`^template: \w+:\d+:\d+: executing ".*?" at <.*?>: ` +
		`(?:map has no entry for key "|can't evaluate field )(\w+)`)
	place = regexp.MustCompile(`^(?:html/)?template: ?\w+:(\d+)`)
)

// explain describes the error, and quotes only the template.
func (p templatePart) explain(err error) error {
	for _, known := range []error{errTooSlow, errTooLong, errFormat} {
		if errors.Is(err, known) {
			return fmt.Errorf("%s: %w", p.name, known)
		}
	}
	for _, blocked := range blockedValues {
		if errors.Is(err, blocked.err) {
			return fmt.Errorf("%s: %s %s", p.name, p.keysAt(err), blocked.why)
		}
	}
	// A key in the template is not data.
	if match := missingKey.FindStringSubmatch(err.Error()); match != nil && strings.Contains(p.source, "."+match[1]) {
		return fmt.Errorf("%s: key %q is missing", p.name, match[1])
	}
	if match := place.FindStringSubmatch(err.Error()); match != nil {
		return fmt.Errorf("%s cannot be rendered: line %s does not fit the data", p.name, match[1])
	}
	return fmt.Errorf("%s cannot be rendered", p.name)
}

// blockedValues are the errors about the value of one action, with the rest of a sentence about its key.
var blockedValues = []struct {
	err error
	why string
}{
	{errVerb, "does not fit the format of its printf"},
	{errLink,
		"is not a link that is allowed: a link begins with https:, http:, mailto:, tel:, sms:, cid: or a scheme of TEMPLATE_LINK_SCHEMES"},
	{errStyle, "is not allowed in a style"},
	{errName, "is not allowed as a name in a tag"},
}

var (
	column    = regexp.MustCompile(`^template: ?\w+:(\d+):(\d+):`)
	linkData  = regexp.MustCompile(`<\{\{`)
	fieldName = regexp.MustCompile(`\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)`)
	indexName = regexp.MustCompile(`"([A-Za-z_]\w*)"`)
	setsDot   = regexp.MustCompile(`^\{\{-?\s*(?:range|with|else\s+with)\b`)
)

// keysAt names the keys with the wrong value: the keys of the failed action, or else of the range or the
// with that sets its dot.
func (p templatePart) keysAt(err error) string {
	for at := p.offset(err); at >= 0; at = strings.LastIndex(p.source[:at], "{{") {
		action, _, _ := strings.Cut(p.source[at:], "}}")
		if keys := keysOf(action); len(keys) > 0 && (at == p.offset(err) || setsDot.MatchString(action)) {
			return "key " + strings.Join(keys, ", ")
		}
	}
	return "a value"
}

// offset returns where in the source the action begins that failed; negative: unknown.
func (p templatePart) offset(err error) int {
	match := column.FindStringSubmatch(err.Error())
	if match == nil { // Slack's markup is complete only after all actions
		if found := linkData.FindStringIndex(p.source); found != nil {
			return found[0] + len("<")
		}
		return -1
	}
	line, _ := strconv.Atoi(match[1])
	char, _ := strconv.Atoi(match[2])
	at := 0
	for range line - 1 {
		at += strings.Index(p.source[at:], "\n") + 1
	}
	return strings.LastIndex(p.source[:min(at+char, len(p.source))], "{{")
}

// keysOf returns the keys that an action reads: "customer.name" for .payload.customer.name.
func keysOf(action string) []string {
	var keys []string
	for _, match := range fieldName.FindAllStringSubmatch(action, -1) {
		if key := strings.TrimPrefix(match[1], "payload."); key != "payload" {
			keys = append(keys, strconv.Quote(key))
		}
	}
	if strings.Contains(action, "index") {
		keys = append(keys, indexName.FindAllString(action, -1)...)
	}
	return slices.Compact(keys)
}
