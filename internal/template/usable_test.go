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
