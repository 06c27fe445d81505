package template_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

func TestRender(t *testing.T) {
	t.Parallel()

	const payload = `{
		"restaurantId": 9007199254740993, "huge": 123456789012345678901234567890, "pax": 4, "kids": 0, "price": 19.90, "ratio": 1234567.5,
		"notes": null, "vip": true, "name": "<b>Ada</b> & \"Co\"", "customer": {"name": "Ada"}, "tables": ["a", null, "c"]
	}`
	tests := []struct {
		name    string
		channel notification.Channel
		title   string
		body    string
		want    notification.Text
	}{
		{"plain", notification.SMS, "", "Table for {{.payload.pax}}", notification.Text{Body: "Table for 4"}},
		{"nothing", notification.SMS, "", "", notification.Text{}},
		{"large integers", notification.SMS, "", "{{.payload.restaurantId}} {{.payload.huge}}", notification.Text{Body: "9007199254740993 123456789012345678901234567890"}},
		{"fractions as written", notification.SMS, "", "{{.payload.price}} {{.payload.ratio}}", notification.Text{Body: "19.90 1234567.5"}},
		{"integers compare", notification.SMS, "", "{{if gt .payload.pax 3}}many{{end}}{{if .payload.kids}} kids{{end}}", notification.Text{Body: "many"}},
		{"null is empty", notification.SMS, "", "[{{.payload.notes}}]{{with .payload.notes}}no{{end}}", notification.Text{Body: "[]"}},
		{"null in a list is empty", notification.SMS, "", "{{range .payload.tables}}[{{.}}]{{end}}", notification.Text{Body: "[a][][c]"}},
		{"an optional key", notification.SMS, "", `[{{with index .payload "missing"}}{{.}}{{end}}]`, notification.Text{Body: "[]"}},
		{"nested", notification.SMS, "", "{{.payload.customer.name}}", notification.Text{Body: "Ada"}},
		{"printf", notification.SMS, "", `{{printf "%03d" .payload.pax}}`, notification.Text{Body: "004"}},
		{"recipient", notification.SMS, "", "{{.recipient.name}} {{.recipient.user_id}} {{.recipient.user_type}} {{.recipient.locale}}", notification.Text{Body: "Élodie 10 RESTAURANT_USER it-CH"}},
		{
			"event", notification.SMS, "", `{{.event.id}} {{.event.type}} {{.event.aggregate_type}}/{{.event.aggregate_id}} {{.event.correlation_id}} {{.event.created_at.Format "02.01.2006 15:04"}}`,
			notification.Text{Body: "evt-1 RESERVATION_REQUESTED RESTAURANT/5 corr-1 21.11.2026 10:00"},
		},
		{"plain text is not escaped", notification.Slack, "{{.payload.name}}", "{{.payload.name}}", notification.Text{Title: `<b>Ada</b> & "Co"`, Body: `<b>Ada</b> & "Co"`}},
		{"a mail's body is, its title is not", notification.Email, "{{.payload.name}}", "<p>{{.payload.name}}</p>", notification.Text{Title: `<b>Ada</b> & "Co"`, Body: "<p>&lt;b&gt;Ada&lt;/b&gt; &amp; &#34;Co&#34;</p>"}},
		{"once, where it says so itself", notification.Email, "x", "<p>{{.payload.customer.name | html}} {{html .payload.name}}</p>", notification.Text{Title: "x", Body: "<p>Ada &lt;b&gt;Ada&lt;/b&gt; &amp; &#34;Co&#34;</p>"}},
		{"a loop within a tag", notification.Email, "x", `<p{{range .payload.tables}} {{if .}}id="{{.}}"{{end}}{{end}}>`, notification.Text{Title: "x", Body: `<p id="a"  id="c">`}},
		{"parts of its own", notification.SMS, "", `{{define "t"}}[{{.}}]{{end}}{{range .payload.tables}}{{template "t" .}}{{end}}`, notification.Text{Body: "[a][][c]"}},
		{"half a character", notification.SMS, "", "{{slice .recipient.name 0 1}}", notification.Text{Body: "\uFFFD"}},
		{"what cannot be stored", notification.SMS, "", `a{{"\x00"}}b`, notification.Text{Body: "ab"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			row := notification.Template{EventType: "RESERVATION_REQUESTED", Channel: string(tt.channel), Locale: "en", Title: tt.title, Body: tt.body}
			got, err := template.NewSet(event(payload), []notification.Template{row}).Render(t.Context(), tt.channel, recipient())

			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

// A template for every channel is plain text; for a mail it becomes HTML.
func TestRenderPlainTextAsMail(t *testing.T) {
	t.Parallel()

	row := notification.Template{EventType: "*", Channel: "*", Locale: "en", Title: "{{.payload.name}} <1>", Body: "Dear {{.payload.name}},\r\n1 < 2 &\nbye"}
	set := template.NewSet(event(`{"name": "<Ada>"}`), []notification.Template{row})

	mail, err := set.Render(t.Context(), notification.Email, recipient())
	require.NoError(t, err)
	require.Equal(t, notification.Text{Title: "<Ada> <1>", Body: "Dear &lt;Ada&gt;,<br>\n1 &lt; 2 &amp;<br>\nbye"}, mail)

	text, err := set.Render(t.Context(), notification.SMS, recipient())
	require.NoError(t, err)
	require.Equal(t, notification.Text{Title: "<Ada> <1>", Body: "Dear <Ada>,\r\n1 < 2 &\nbye"}, text)
}

func TestRenderErrors(t *testing.T) {
	t.Parallel()

	payload := `{"name": "hunter2", "forged": ">: map has no entry for key \"hunter2\"", "break": "a\r\nBcc: hunter2", "feed": "a\nb", "return": "a\rb", "space": " ", "list": ["hunter2"], "amp": "` + strings.Repeat("&", 2000) + `"}`
	tests := []struct {
		name        string
		title, body string
		want        string
	}{
		{"missing key in the title", "{{.payload.restaurantId}}", "x", `title: key "restaurantId" is missing`},
		{"missing key in the body", "x", "\n{{.payload.restaurantId}}", `body: key "restaurantId" is missing`},
		{"missing key in a loop", "x", "{{range .payload.list}}{{$.payload.nothing}}{{end}}", `body: key "nothing" is missing`},
		{"missing key of a missing key", "x", "{{.payload.customer.name}}", `body: key "customer" is missing`},
		{"key of a text", "x", "{{.payload.name.first}}", `body: key "first" is missing`},
		{"missing root", "x", "{{.restaurantId}}", `body: key "restaurantId" is missing`},
		{"no addresses", "x", "{{.recipient.email}}", `body: key "email" is missing`},
		{"function on the wrong thing", "x", "a\n{{index .payload.name .payload.name}}", "body cannot be rendered: line 2 does not fit the data"},
		{"comparison of unlike things", "x", "{{if gt .payload.name 3}}{{end}}", "body cannot be rendered: line 1 does not fit the data"},
		{"loop over a text", "x", "{{range $i, $c := .payload.name}}{{end}}", "body cannot be rendered: line 1 does not fit the data"},
		{"a text that looks like an error", "x", "{{range $i, $c := .payload.forged}}{{end}}", "body cannot be rendered: line 1 does not fit the data"},
		{"syntax", "x", "{{.payload.name", "cannot be parsed: template: body:1: unclosed action"},
		{"unknown function", "{{env}}", "x", `cannot be parsed: template: title:1: function "env" not defined`},
		{"not HTML", "x", `<a href="{{if .payload.name}}"{{end}}>`, "body cannot be rendered: line 1 does not fit the data"},
		{"CR LF in the title", "{{.payload.break}}", "x", "line break in the title"},
		{"LF in the title", "{{.payload.feed}}", "x", "line break in the title"},
		{"CR in the title", "{{.payload.return}}", "x", "line break in the title"},
		{"LF in the template's own title", "a\nb", "x", "line break in the title"},
		{"empty title", "", "x", "the title is empty, and EMAIL needs one"},
		{"blank title", "{{.payload.space}}", "x", "the title is empty, and EMAIL needs one"},
		{"too long a template", "x", strings.Repeat("x", 65537), "body: the template is longer than 64 KiB"},
		{"too long a text", "x", "{{range 70}}" + strings.Repeat("x", 1000) + "{{end}}", "body: longer than 64 KiB"},
		{"too long once escaped", "x", "{{range 7}}{{$.payload.amp}}{{end}}", "body: longer than 64 KiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			row := notification.Template{EventType: "*", Channel: "EMAIL", Locale: "it_CH", Title: tt.title, Body: tt.body}
			got, err := template.NewSet(event(payload), []notification.Template{row}).Render(t.Context(), notification.Email, recipient())

			require.EqualError(t, err, "template */EMAIL/it_CH: "+tt.want)
			require.Empty(t, got)
		})
	}
}

func TestRenderPlainTextTooLongAsMail(t *testing.T) {
	t.Parallel()

	row := notification.Template{EventType: "*", Channel: "*", Locale: "en", Title: "x", Body: strings.Repeat("&", 20_000)}
	set := template.NewSet(event(`{}`), []notification.Template{row})

	_, err := set.Render(t.Context(), notification.Email, recipient())
	require.EqualError(t, err, "template */*/en: body: longer than 64 KiB")
	_, err = set.Render(t.Context(), notification.SMS, recipient())
	require.NoError(t, err)
}

func TestRenderPayloadThatIsNoJSON(t *testing.T) {
	t.Parallel()

	row := notification.Template{EventType: "*", Channel: "*", Locale: "en", Title: "x", Body: "x"}
	_, err := template.NewSet(event(`{"name": "hunter2`), []notification.Template{row}).Render(t.Context(), notification.SMS, recipient())
	require.EqualError(t, err, "template */*/en: the payload is not JSON")
}

func event(payload string) notification.Event {
	return notification.Event{
		ID: "evt-1", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", CorrelationID: "corr-1",
		Payload: json.RawMessage(payload), CreatedAt: time.Date(2026, 11, 21, 11, 0, 0, 0, time.FixedZone("", 3600)),
	}
}

func recipient() notification.Recipient {
	return notification.Recipient{
		UserType: notification.RestaurantUser, UserID: "10", Name: "Élodie", Locale: "it-CH",
		Email: "elodie@example.com", Phone: "+390612345678", SlackWebhookURL: "https://hooks.slack.com/services/x",
	}
}
