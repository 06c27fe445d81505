package template_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

func TestCoverage(t *testing.T) {
	t.Parallel()

	const everything = `{{define "row"}}<li>{{if .vip}}VIP{{end}}</li>{{end -}}
<p title="{{if .payload.short}}{{.payload.short}}{{else}}none{{end}}">
{{with index .payload "customer"}}{{if .name}}{{.name}}{{else}}Guest{{end}}{{else}}Nobody{{end}}</p>
<ul>{{range .payload.rows}}{{template "row" .}}{{else}}<li>empty</li>{{end}}</ul>
{{range $i, $n := .payload.count}}{{$i}}{{end}}`
	email := notification.Template{EventType: "T", Channel: "EMAIL", Locale: "en", Title: "N{{if .payload.short}}S{{end}}", Body: everything}
	sms := notification.Template{EventType: "T", Channel: "SMS", Locale: "en", Body: everything}
	type untaken = template.Untaken
	tests := []struct {
		name     string
		row      notification.Template
		payloads []string
		want     []untaken
	}{
		{
			name: "the outermost branches", row: email, payloads: []string{`{"short": "", "rows": [], "count": 0}`},
			want: []untaken{
				{Part: "title", Line: 1, Branch: "{{if .payload.short}}"},
				{Part: "body", Line: 1, Branch: "{{if .vip}}"},
				{Part: "body", Line: 2, Branch: "{{if .payload.short}}"},
				{Part: "body", Line: 3, Branch: `{{with index .payload "customer"}}`},
				{Part: "body", Line: 4, Branch: "{{range .payload.rows}}"},
				{Part: "body", Line: 5, Branch: "{{range $i, $n := .payload.count}}"},
			},
		},
		{
			name: "inner branches and else", row: email,
			payloads: []string{`{"short": "x", "customer": {"name": ""}, "rows": [{"vip": true}], "count": 2}`},
			want: []untaken{
				{Part: "body", Line: 2, Branch: "{{else}} of {{if .payload.short}}"},
				{Part: "body", Line: 3, Branch: `{{else}} of {{with index .payload "customer"}}`},
				{Part: "body", Line: 3, Branch: "{{if .name}}"},
				{Part: "body", Line: 4, Branch: "{{else}} of {{range .payload.rows}}"},
			},
		},
		{
			name: "several renderings together, as plain text", row: sms, payloads: []string{
				`{"short": "x", "customer": {"name": "Ada"}, "rows": [{"vip": true}], "count": 2}`,
				`{"short": "", "customer": {"name": ""}, "rows": [], "count": 0}`,
				`{"short": "", "rows": [], "count": 0}`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			coverage := &template.Coverage{}
			plain, watched := template.Engine{}, template.Engine{Coverage: coverage}
			_, rendered := coverage.Untaken(tt.row)
			require.False(t, rendered)
			for _, payload := range tt.payloads {
				event := notification.Event{Type: "T", Payload: json.RawMessage(payload)}
				rows, channel := []notification.Template{tt.row}, notification.Channel(tt.row.Channel)
				want, wantErr := plain.NewSet(event, rows).Render(t.Context(), channel, notification.Recipient{})
				got, err := watched.NewSet(event, rows).Render(t.Context(), channel, notification.Recipient{})
				require.Equal(t, wantErr, err)
				require.Equal(t, want, got)
			}
			got, rendered := coverage.Untaken(tt.row)
			require.True(t, rendered)
			require.Equal(t, tt.want, got)
		})
	}
}
