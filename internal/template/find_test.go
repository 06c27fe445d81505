package template_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

// All rows that fit, the most specific first: each case takes away the best one
// that is left.
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
		for i := len(rows) - 1; i >= 0; i-- { // their order in the table does not matter
			reversed = append(reversed, rows[i])
		}
		text, err := template.NewSet(event(`{}`), reversed).Render(t.Context(), notification.SMS, recipient())
		require.NoError(t, err)
		require.Equal(t, best.Body, text.Body)
		rows = rows[1:]
	}
	_, err := template.NewSet(event(`{}`), strangers).Render(t.Context(), notification.SMS, recipient())
	require.EqualError(t, err, "no template for RESERVATION_REQUESTED/SMS/it-CH")
}

func TestSelectionByLocale(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, locale string
		rows         []string // locales
		want         string   // the row's; empty: none
	}{
		{"exact", "it-CH", []string{"en", "it", "it-CH"}, "it-CH"},
		{"language", "it-CH", []string{"en", "it"}, "it"},
		{"fallback", "it-CH", []string{"en", "de"}, "en"},
		{"underscore", "it_IT", []string{"en", "it-IT"}, "it-IT"},
		{"underscore in the row", "it-IT", []string{"en", "it_IT"}, "it_IT"},
		{"language of an underscore", "it_IT", []string{"en", "it"}, "it"},
		{"another case", "IT-it", []string{"en", "it-IT"}, "it-IT"},
		{"language of a script", "zh-Hant-TW", []string{"en", "zh"}, "zh"},
		{"unknown", "", []string{"it", "en"}, "en"},
		{"English of some country", "en-GB", []string{"en", "en-US"}, "en"},
		{"a country is not its language", "it", []string{"it-IT"}, ""},
		{"of two rows with one key the first", "it-IT", []string{"it-IT", "it_IT"}, "it-IT"},
		{"nothing", "it", []string{"de"}, ""},
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

			text, err := template.NewSet(event(`{}`), rows).Render(t.Context(), notification.SMS, reader)

			require.Equal(t, tt.want == "", err != nil)
			require.Equal(t, tt.want, text.Body)
		})
	}
}
