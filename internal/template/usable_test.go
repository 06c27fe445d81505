package template_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

func TestUsable(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, channel, body string
		want                string // empty: it is usable
	}{
		{name: "it misses keys, which an event may have", channel: "EMAIL", body: `<a href="{{.payload.link}}">{{.payload.name}}</a>`},
		{name: "it would run for ever", channel: "SMS", body: "{{range 9000000000000}}{{end}}"},
		{name: "it cannot be parsed", channel: "SMS", body: "{{.payload.name", want: "cannot be parsed"},
		{name: "its HTML cannot be escaped", channel: "EMAIL", body: `<a {{if .payload.x}}href="{{end}}>`, want: "branches end in different contexts"},
		{name: "no root", channel: "SMS", body: "Hello {{.customer.name}}", want: "it names {{.customer.name}}, which no event has: write {{.payload.customer.name}}"},
		{name: "no root, in a condition", channel: "EMAIL", body: "<p>{{if .customer}}x{{end}}</p>", want: "write {{.payload.customer}}"},
		{name: "no root, in a loop", channel: "SMS", body: "{{range .payload.items}}{{.name}} {{$.customer}}{{end}}", want: "write {{.payload.customer}}"},
		{name: "no field of the event", channel: "SMS", body: "{{.event.name}}", want: "it names {{.event.name}}, but .event has aggregate_id,"},
		{name: "no field of the recipient", channel: "SMS", body: "{{printf \"%s\" .recipient.email}}", want: "but .recipient has locale, name, user_id, user_type alone"},
		{name: "other dots", channel: "SMS", body: "{{with .payload.customer}}{{.name}}{{else}}{{.event.id}}{{end}}{{range .payload.items}}{{.title}}{{end}}{{.event.created_at.Year}}"},
		{name: "plain text is not escaped", channel: "SMS", body: `<a {{if .payload.x}}href="{{end}}>`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			err := template.Usable(notification.Template{EventType: "*", Channel: tt.channel, Locale: "en", Title: "x", Body: tt.body})
			if tt.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.want)
			}
		})
	}
}
