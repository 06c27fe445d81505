package template

import (
	"context"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"strings"
	"time"

	"herald/internal/notification"
)

// Usable says why a row can be used for no event at all; nil: its templates can be
// parsed, their HTML can be escaped, and they begin with fields that there are. The error
// quotes the template alone.
func Usable(row notification.Template) error {
	t := compile(row)
	if t.err != nil {
		return t.err
	}
	if err := t.body.escapable(); err != nil {
		return err
	}
	return checkRoots(row)
}

// escapable looks for what the HTML package refuses at the first use only.
func (p templatePart) escapable() (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%s cannot be rendered", p.name)
		}
	}()
	var refused *htmltemplate.Error
	unused := &limited{ctx: context.Background(), start: time.Now()}
	if err := p.template.Execute(unused, map[string]any{}); errors.As(err, &refused) {
		cause, _, _ := strings.Cut(refused.Description, ": {") // what follows is the state of the escaper
		return fmt.Errorf("the HTML of %s cannot be escaped: %.200s", p.name, cause)
	}
	return nil
}

// Serves says whether there is a row for an event type, or for every one, over a
// channel in a locale.
func (s *Set) Serves(eventType string, channel notification.Channel, locale string) bool {
	_, found := s.find(eventType, string(channel), locale)
	return found
}
