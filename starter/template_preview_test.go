package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/explain"
	"herald/internal/notification"
)

// withTemplates returns a shell whose database has one patient, who reads Italian.
func withTemplates(t *testing.T) shell {
	t.Helper()
	c := withDatabase(t)
	c.exec(t, `
		INSERT INTO recipient (user_type, user_id, name, locale) VALUES ('CUSTOMER', '42', 'Ada <A>', 'it-CH'), ('CUSTOMER', '43', 'Bob', 'en');
		UPDATE recipient SET active = false WHERE user_id = '43';
		INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('VISIT_BOOKED', 'EMAIL'), ('VISIT_BOOKED', 'SMS'),
		       ('VISIT_MOVED', 'EMAIL');
		INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy) VALUES ('VISIT_BOOKED', 'PUSH', 'AGGREGATE');
		INSERT INTO notification_template (event_type, channel, locale, title, body) VALUES
			('VISIT_BOOKED', 'EMAIL', 'it', 'Visita: {{.payload.doctor}}',
			       '<p>Ciao {{.recipient.name}}, <b>{{.payload.doctor}}</b></p><p>{{.event.id}}</p>'),
			('VISIT_BOOKED', '*', 'en', 'Visit', 'With {{.payload.doctor}}'),
			('VISIT_BROKEN', 'SMS', 'en', 'Visit', 'At {{.payload.at}}');
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		       VALUES ('evt-1', 'VISIT_BOOKED', 'CUSTOMER', '42', '{"doctor": "Dr. Ö"}')`)
	return c
}

func TestTemplatePreview(t *testing.T) {
	t.Parallel()

	c := withTemplates(t)
	file := filepath.Join(t.TempDir(), "visit.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"doctor": "Dr. <X>"}`), 0o600))
	tests := []struct {
		name string
		args []string
		want explain.Preview
	}{
		{
			name: "a mail of an event, in the language of the locale",
			args: []string{"--event", "evt-1", "--recipient", "CUSTOMER/42", "--channel", "email"},
			want: explain.Preview{
				EventID: "evt-1", EventType: "VISIT_BOOKED", Recipient: "CUSTOMER/42", Channel: "EMAIL", Locale: "it-CH",
				Template: notification.Template{EventType: "VISIT_BOOKED", Channel: "EMAIL", Locale: "it"},
				Title:    "Visita: Dr. Ö", Body: "<p>Ciao Ada &lt;A&gt;, <b>Dr. Ö</b></p><p>evt-1</p>", Plain: "Ciao Ada <A>, Dr. Ö\n\nevt-1",
				Notes: []string{},
			},
		},
		{
			name: "a payload that nobody wrote, in another locale",
			args: []string{"--type", "VISIT_BOOKED", "--payload", file, "--recipient", "CUSTOMER/42", "--channel", "EMAIL", "--locale", "de"},
			want: explain.Preview{
				EventID: "preview", EventType: "VISIT_BOOKED", Recipient: "CUSTOMER/42", Channel: "EMAIL", Locale: "de",
				Template: notification.Template{EventType: "VISIT_BOOKED", Channel: "*", Locale: "en"},
				Title:    "Visit", Body: "With Dr. &lt;X&gt;", Plain: "With Dr. <X>", Notes: []string{},
			},
		},
		{
			name: "somebody who would get nothing", args: []string{"--event", "evt-1", "--recipient", "CUSTOMER/43", "--channel", "SLACK"},
			want: explain.Preview{
				EventID: "evt-1", EventType: "VISIT_BOOKED", Recipient: "CUSTOMER/43", Channel: "SLACK", Locale: "en",
				Template: notification.Template{EventType: "VISIT_BOOKED", Channel: "*", Locale: "en"}, Title: "Visit", Body: "With Dr. Ö",
				Notes: []string{
					"the recipient is not active (recipient), so they would get nothing",
					"VISIT_BOOKED does not go over SLACK: event_type_channel_routing has no row for it",
				},
			},
		},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, read[explain.Preview](t, c, append([]string{"template", "preview"}, tt.args...)...), tt.name)
	}
	require.Contains(t, c.must(t, "template", "preview", "--event", "evt-1", "--recipient", "CUSTOMER/42", "--channel", "push"), "digest")

	text := c.must(t, "template", "preview", "--event", "evt-1", "--recipient", "CUSTOMER/42", "--channel", "email")
	require.Contains(t, text, "event_type VISIT_BOOKED, channel EMAIL, locale it")
	require.Contains(t, text, "\nBODY, PLAIN PART\n  Ciao Ada <A>, Dr. Ö\n")
}

func TestTemplatePreviewErrors(t *testing.T) {
	t.Parallel()

	c := withTemplates(t)
	c.in = `{"doctor": "X"}`
	tests := []struct {
		name      string
		args      []string
		want, aid string
	}{
		{name: "a missing key", args: []string{"--type", "VISIT_BROKEN", "--payload", "-", "--channel", "SMS", "--recipient", "CUSTOMER/42"},
			want: `template VISIT_BROKEN/SMS/en: body: key "at" is missing`,
			aid:  "next: correct the row of notification_template with event_type VISIT_BROKEN, channel SMS and locale en"},
		{name: "no template", args: []string{"--type", "VISIT_MOVED", "--payload", "-", "--channel", "EMAIL", "--recipient", "CUSTOMER/42"},
			want: "no template for VISIT_MOVED/EMAIL/it-CH", aid: "next: add a row to notification_template: event_type VISIT_MOVED or *"},
		{name: "no recipient", args: []string{"--event", "evt-1", "--channel", "SMS", "--recipient", "CUSTOMER/99"},
			want: "CUSTOMER/99 is not in the directory", aid: "next: name somebody who has a row in recipient"},
		{name: "no event", args: []string{"--event", "evt-2", "--channel", "SMS", "--recipient", "CUSTOMER/42"}, want: "event evt-2",
			aid: "starter event list"},
	}
	for _, tt := range tests {
		got := c.fails(t, failed, tt.want, append([]string{"template", "preview"}, tt.args...)...)
		require.Contains(t, got.err, tt.aid, tt.name)
	}
}
