package template_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

// The most specific matching row wins: each case removes the best remaining row.
func TestSelection(t *testing.T) {
	t.Parallel()

	var rows []notification.Template
	for _, eventType := range []string{"RESERVATION_REQUESTED", "*"} {
		for _, channel := range []string{"SMS", "*"} {
			for _, locale := range []string{"it-CH", "it", "en"} {
				rows = append(rows, notification.Template{
					EventType: eventType, Channel: channel, Locale: locale, Body: eventType + "/" + channel + "/" + locale,
				})
			}
		}
	}
	strangers := []notification.Template{
		{EventType: "RESERVATION_REQUESTED", Channel: "SMS", Locale: "de", Body: "another language"},
		{EventType: "RESERVATION_REQUESTED", Channel: "SMS", Locale: "it-IT", Body: "another country"},
		{EventType: "RESERVATION_REQUESTED", Channel: "PUSH", Locale: "it-CH", Body: "another channel"},
		{EventType: "CHAT_MESSAGE_SENT", Channel: "SMS", Locale: "it-CH", Body: "another event"},
	}
	for len(rows) > 0 {
		best := rows[0]
		reversed := append([]notification.Template{}, strangers...)
		for i := len(rows) - 1; i >= 0; i-- { // the order in the table does not matter
			reversed = append(reversed, rows[i])
		}
		text, err := template.Engine{}.NewSet(event(`{}`), reversed).Render(t.Context(), notification.SMS, recipient())
		require.NoError(t, err)
		require.Equal(t, best.Body, text.Body)
		rows = rows[1:]
	}
	_, err := template.Engine{}.NewSet(event(`{}`), strangers).Render(t.Context(), notification.SMS, recipient())
	require.EqualError(t, err, "no template for RESERVATION_REQUESTED/SMS/it-CH")
}

func TestSelectionByLocale(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, locale string
		rows         []string // locales
		want         string   // of the chosen row; empty: none
	}{
		{name: "exact", locale: "it-CH", rows: []string{"en", "it", "it-CH"}, want: "it-CH"},
		{name: "language", locale: "it-CH", rows: []string{"en", "it"}, want: "it"},
		{name: "fallback", locale: "it-CH", rows: []string{"en", "de"}, want: "en"},
		{name: "underscore", locale: "it_IT", rows: []string{"en", "it-IT"}, want: "it-IT"},
		{name: "underscore in the row", locale: "it-IT", rows: []string{"en", "it_IT"}, want: "it_IT"},
		{name: "language of an underscore", locale: "it_IT", rows: []string{"en", "it"}, want: "it"},
		{name: "another case", locale: "IT-it", rows: []string{"en", "it-IT"}, want: "it-IT"},
		{name: "language of a script", locale: "zh-Hant-TW", rows: []string{"en", "zh"}, want: "zh"},
		{name: "script", locale: "zh-Hant-TW", rows: []string{"en", "zh", "zh-Hant"}, want: "zh-Hant"},
		{name: "another script", locale: "sr-Latn-RS", rows: []string{"en", "sr", "sr-Latn", "sr-Cyrl-RS"}, want: "sr-Latn"},
		{name: "script without a country", locale: "zh_Hans", rows: []string{"zh-Hant", "zh"}, want: "zh"},
		{name: "no other script", locale: "zh-Hant-HK", rows: []string{"en", "zh-Hans"}, want: "en"},
		{name: "region by number", locale: "es-419", rows: []string{"en", "es", "es-MX"}, want: "es"},
		{name: "variant", locale: "de-CH-1996", rows: []string{"en", "de", "de-CH"}, want: "de-CH"},
		{name: "extension", locale: "de-DE-u-co-phonebk", rows: []string{"en", "de-DE-u", "de-DE"}, want: "de-DE"},
		{name: "private use", locale: "x-pig-latin", rows: []string{"x", "en"}, want: "en"},
		{name: "script of the row in another case", locale: "ZH-hant-tw", rows: []string{"zh_HANT"}, want: "zh_HANT"},
		{name: "POSIX encoding", locale: "it_IT.UTF-8", rows: []string{"en", "it-IT"}, want: "it-IT"},
		{name: "POSIX modifier", locale: "de_DE@euro", rows: []string{"en", "de-DE"}, want: "de-DE"},
		{name: "POSIX script", locale: "sr_RS.UTF-8@latin", rows: []string{"sr", "sr-Latn"}, want: "sr-Latn"},
		{name: "spaces", locale: " it-IT ", rows: []string{"en", "it"}, want: "it"},
		{name: "unknown", rows: []string{"it", "en"}, want: "en"},
		{name: "English of some country", locale: "en-GB", rows: []string{"en", "en-US"}, want: "en"},
		{name: "only a country of the language", locale: "it", rows: []string{"it-IT"}},
		{name: "two rows with one key", locale: "it-IT", rows: []string{"it-IT", "it_IT"}, want: "it-IT"},
		{name: "only another language", locale: "it", rows: []string{"de"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var rows []notification.Template
			for _, locale := range tt.rows {
				rows = append(rows, notification.Template{EventType: "*", Channel: "*", Locale: locale, Body: locale})
			}
			reader := recipient()
			reader.Locale = tt.locale

			text, err := template.Engine{}.NewSet(event(`{}`), rows).Render(t.Context(), notification.SMS, reader)

			require.Equal(t, tt.want == "", err != nil)
			require.Equal(t, tt.want, text.Body)
		})
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, channel, body string
		want                string // empty: usable
	}{
		{name: "keys that an event may have", channel: "EMAIL", body: `<a href="{{.payload.link}}">{{.payload.name}}</a>`},
		{name: "an endless loop", channel: "SMS", body: "{{range 9000000000000}}{{end}}"},
		{name: "a syntax error", channel: "SMS", body: "{{.payload.name", want: "cannot be parsed"},
		{name: "HTML that cannot be escaped", channel: "EMAIL", body: `<a {{if .payload.x}}href="{{end}}>`,
			want: "branches end in different contexts"},
		{name: "an unknown root", channel: "SMS", body: "Hello {{.customer.name}}",
			want: "it names {{.customer.name}}, which no event has: write {{.payload.customer.name}}"},
		{name: "an unknown root in a condition", channel: "EMAIL", body: "<p>{{if .customer}}x{{end}}</p>", want: "write {{.payload.customer}}"},
		{name: "an unknown root in a loop", channel: "SMS", body: "{{range .payload.items}}{{.name}} {{$.customer}}{{end}}",
			want: "write {{.payload.customer}}"},
		{name: "an unknown field of the event", channel: "SMS", body: "{{.event.name}}",
			want: "it names {{.event.name}}, but .event has only aggregate_id,"},
		{name: "an unknown field of the recipient", channel: "SMS", body: "{{printf \"%s\" .recipient.email}}",
			want: "but .recipient has only locale, name, user_id, user_type"},
		{name: "other dots", channel: "SMS",
			body: "{{with .payload.customer}}{{.name}}{{else}}{{.event.id}}{{end}}{{range " +
				".payload.items}}{{.title}}{{end}}{{.event.created_at.Year}}"},
		{name: "plain text is not escaped", channel: "SMS", body: `<a {{if .payload.x}}href="{{end}}>`},
	}
	for _, tt := range tests {
		err := template.Engine{}.Usable(notification.Template{EventType: "*", Channel: tt.channel, Locale: "en", Title: "x", Body: tt.body})
		if tt.want == "" {
			require.NoError(t, err, tt.name)
		} else {
			require.ErrorContains(t, err, tt.want, tt.name)
		}
	}
}

func TestUsableURL(t *testing.T) {
	t.Parallel()

	tests := map[string]string{ // part of the error; empty: usable
		"": "", "/": "", "/orders/7": "", "/{{.payload.id}}": "", "{{.payload.page}}": "", "https://{{.payload.host}}/": "",
		"http{{.payload.rest}}": "", " {{- .payload.page}}": "",
		"https://app.example.com/{{.payload.id}}": "", "http://localhost:3000/{{.payload.id}}": "",
		"orders/{{.payload.id}}": "must be https", "//{{.payload.host}}": "must be https", "javascript:{{.payload.code}}": "must be https",
		"http://example.com/{{.payload.id}}": "must be https", "https": "must be https",
		"/{{.payload.id": "cannot be parsed", "/{{.order.id}}": "write {{.payload.order.id}}",
	}
	for url, want := range tests {
		row := notification.Template{EventType: "*", Channel: "*", Locale: "en", Title: "x", Body: "x", URL: url}
		require.NoError(t, template.Engine{}.Usable(row), url)
		if err := template.UsableURL(row); want == "" {
			require.NoError(t, err, url)
		} else {
			require.ErrorContains(t, err, want, url)
		}
	}
}
