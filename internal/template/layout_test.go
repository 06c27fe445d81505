package template_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

// linked makes the links of layouts.
var linked = template.Engine{
	PreferencesURL: func(notification.Channel, notification.Recipient) string { return "https://h/#preferences" },
	UnsubscribeURL: func(over notification.Channel, m notification.Message) string {
		return "https://h/unsubscribe?token=" + string(over) + "." + m.UserID + "." + m.Category
	},
}

// A layout stands around a body in the markup of its channel. A row for every channel has it over EMAIL.
func TestLayout(t *testing.T) {
	t.Parallel()

	const links = `{{with .unsubscribe_url}}<a href="{{.}}">off</a>{{end}}<a href="{{.preferences_url}}">choose</a>`
	for name, tt := range map[string]struct {
		row     notification.Template
		channel notification.Channel
		want    string
	}{
		"mail": {notification.Template{Channel: "EMAIL", Body: "<p>{{.payload.name}}</p>", LayoutBody: "<h1>{{.event.type}}</h1>{{ block -}} <i>x</i>"},
			notification.Email, "<h1>RESERVATION_REQUESTED</h1><p>&lt;b&gt;</p><i>x</i>"},
		"text as mail": {notification.Template{Channel: "*", Body: "1\n{{.payload.name}}", LayoutBody: "<div>{{block}}</div>"},
			notification.Email, "<div>1<br>\n&lt;b&gt;</div>"},
		"text over another channel": {notification.Template{Channel: "*", Body: "{{.payload.name}}", LayoutBody: "<div>{{block}}</div>"},
			notification.SMS, "<b>"},
		"a text message": {notification.Template{Channel: "SMS", Body: "{{.payload.name}}", LayoutBody: "{{block}} Bye, {{.recipient.name}}"},
			notification.SMS, "<b> Bye, Élodie"},
		"Slack": {notification.Template{Channel: "SLACK", Body: "{{.payload.name}} <https://x|y>", LayoutBody: "*{{.reason}}* {{block}}"},
			notification.Slack, "*fai parte di: ristorante* &lt;b&gt; <https://x|y>"},
		"links": {notification.Template{Channel: "EMAIL", Body: "x", LayoutBody: "{{block}}" + links, Category: "offers", Optional: true},
			notification.Email, `x<a href="https://h/unsubscribe?token=EMAIL.10.offers">off</a><a href="https://h/#preferences">choose</a>`},
		"mandatory": {notification.Template{Channel: "EMAIL", Body: "x", LayoutBody: "{{block}}" + links},
			notification.Email, `x<a href="https://h/#preferences">choose</a>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			tt.row.EventType, tt.row.Locale, tt.row.Title, tt.row.Layout = "*", "en", "Title", "page"
			person := recipient()
			person.Entity.Type = "RESTAURANT"
			require.NoError(t, linked.Usable(tt.row))
			set := linked.NewSet(event(`{"name": "<b>"}`), []notification.Template{tt.row})
			text, err := set.Render(t.Context(), tt.channel, person)
			require.NoError(t, err)
			require.Equal(t, tt.want, text.Body)

			item, err := set.RenderItem(t.Context(), tt.channel, person)
			require.NoError(t, err)
			tt.row.Layout = ""
			bare, err := linked.NewSet(event(`{"name": "<b>"}`), []notification.Template{tt.row}).Render(t.Context(), tt.channel, person)
			require.NoError(t, err)
			require.Equal(t, bare, item)
		})
	}
}

// A digest has the layout of its template.
func TestLayoutOfADigest(t *testing.T) {
	t.Parallel()

	row := words("EMAIL", "en", "Reviews", "{{range .Items}}{{.body}}{{end}}")
	row.Layout, row.LayoutBody, row.Category, row.Optional = "page", "{{block}}<hr>{{.unsubscribe_url}}{{.reason}}", "offers", true
	text, err := linked.Digest([]notification.Template{row}, "REVIEW_POSTED", notification.Email, recipient(), reviews)
	require.NoError(t, err)
	require.Equal(t, "<p>4 &lt; 5 stars</p><p>5 stars</p><hr>https://h/unsubscribe?token=EMAIL.10.offers", text.Body)
}

// A wrong layout fails its templates, and the error names it.
func TestWrongLayouts(t *testing.T) {
	t.Parallel()

	for body, want := range map[string]string{
		"":                                      "layout page: notification_layout has it neither in the template's language nor in en",
		"Bye":                                   "layout page: it has no {{block}}, where the text goes",
		"{{block}}{{end}}":                      "layout page: cannot be parsed",
		"{{block}}{{range 100000}}{{.}}{{end}}": "layout: longer than 64 KiB",
		"{{block}}{{.payload.name}}":            `layout: key "payload" is missing`,
	} {
		row := notification.Template{EventType: "*", Channel: "EMAIL", Locale: "en", Title: "Title", Body: "x", Layout: "page", LayoutBody: body}
		_, err := linked.NewSet(event(`{}`), []notification.Template{row}).Render(t.Context(), notification.Email, recipient())
		require.ErrorContains(t, err, "template */EMAIL/en: "+want)
	}
}
