package template_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

// reviews are two items of a digest with mail bodies.
var reviews = []notification.DigestItem{
	{DeliveryID: "evt-2-staff10-EMAIL", EventID: "evt-2", Title: "Ada & <Bob>", Body: "<p>4 &lt; 5 stars</p>",
		CreatedAt: time.Date(2026, 11, 21, 11, 0, 0, 0, time.FixedZone("", 3600))},
	{DeliveryID: "evt-1-staff10-EMAIL", EventID: "evt-1", Title: "Zoë", Body: "<p>5 stars</p>",
		CreatedAt: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)},
}

func words(channel, locale, title, body string) notification.Template {
	return notification.Template{EventType: "digest", Channel: channel, Locale: locale, Title: title, Body: body}
}

// The digest templates of an event type precede the general digest templates.
func TestDigestOfAType(t *testing.T) {
	t.Parallel()

	rows := []notification.Template{
		{EventType: "digest", Channel: "*", Locale: "en", Title: "all", Body: "all"},
		{EventType: "REVIEW_POSTED.digest", Channel: "*", Locale: "en", Title: "reviews", Body: "{{len .Items}} reviews"},
	}
	items := []notification.DigestItem{{EventID: "evt-1"}}
	for eventType, want := range map[string]string{"REVIEW_POSTED": "1 reviews", "ORDER_PAID": "all"} {
		text, err := template.Engine{}.Digest(rows, eventType, notification.SMS, notification.Recipient{Locale: "en"}, items)
		require.NoError(t, err)
		require.Equal(t, want, text.Body)
	}
	row, found := template.ChosenDigest(rows, "REVIEW_POSTED", notification.SMS, "it")
	require.True(t, found)
	require.Equal(t, "REVIEW_POSTED.digest", row.EventType)
}

func TestDigest(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		channel notification.Channel
		rows    []notification.Template
		want    notification.Text
	}{
		{
			name: "items in their order", channel: notification.SMS,
			rows: []notification.Template{words("*", "en", "{{len .Items}} reviews", "{{range .Items}}{{.event_id}} {{.title}}: {{.body}};{{end}}")},
			want: notification.Text{Title: "2 reviews", Body: "evt-2 Ada & <Bob>: <p>4 &lt; 5 stars</p>;evt-1 Zoë: <p>5 stars</p>;"},
		},
		{
			name: "items of a mail, whose bodies are HTML and whose titles are not", channel: notification.Email,
			rows: []notification.Template{words("EMAIL", "en", "{{(index .Items 0).title}}", "{{range .Items}}<h3>{{.title}}</h3>{{.body}}{{end}}")},
			want: notification.Text{Title: "Ada & <Bob>", Body: "<h3>Ada &amp; &lt;Bob&gt;</h3><p>4 &lt; 5 stars</p><h3>Zoë</h3><p>5 stars</p>"},
		},
		{
			name: "recipient, event type and time", channel: notification.Push,
			rows: []notification.Template{
				words("PUSH", "en", "{{.event.type}}", `{{.recipient.name}}{{range .Items}} {{.created_at.Format "15:04"}}{{end}}`),
			},
			want: notification.Text{Title: "REVIEW_POSTED", Body: "Élodie 10:00 09:00"},
		},
		{
			name: "the most specific template", channel: notification.SMS,
			rows: []notification.Template{
				words("*", "it", "every channel", ""), words("SMS", "en", "english", ""), words("SMS", "it", "italiano", ""),
				words("EMAIL", "it-CH", "mail", ""),
				{EventType: "*", Channel: "SMS", Locale: "it-CH", Title: "not of digests"},
			},
			want: notification.Text{Title: "italiano"},
		},
	}
	for _, tt := range tests {
		got, err := template.Engine{}.Digest(tt.rows, "REVIEW_POSTED", tt.channel, recipient(), reviews)
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, got, tt.name)
	}
}

// A template for every channel lists the plain text of its items in each kind of markup.
func TestPlainDigest(t *testing.T) {
	t.Parallel()

	rows := []notification.Template{words("*", "en", "{{(index .Items 0).body}}", "{{range .Items}}- {{.title}}: {{.body}}\n{{end}}")}
	items := []notification.DigestItem{
		{Title: "Ada & <Bob>",
			Body: `<p>Hello &lt;b&gt; <b>Anna</b></p><!--[if mso]>Outlook<![endif]--><a href="https://x.example/?a=1&amp;b=2">Open</a>`},
		{Title: "Zoë", Body: "Fish &amp; chips<br>2 &gt; 1"},
	}
	text, err := template.Engine{}.Digest(rows, "REVIEW_POSTED", notification.Email, recipient(), items)
	require.NoError(t, err)
	require.Equal(t, "Hello <b> Anna Open <https://x.example/?a=1&b=2>", text.Title, "a title has no tags")
	require.Equal(t,
		"- Ada &amp; &lt;Bob&gt;: Hello &lt;b&gt; Anna<br>\n<br>\nOpen &lt;https://x.example/?a=1&amp;b=2&gt;<br>\n- Zoë: Fish &amp; "+
			"chips<br>\n2 &gt; 1<br>\n",
		text.Body)
	require.NotContains(t, text.Body, "&lt;p&gt;")
}

// Other errors match [template.Set.Render].
func TestDigestErrors(t *testing.T) {
	t.Parallel()

	long := []notification.DigestItem{{Title: "long", Body: strings.Repeat("x", 65536)}}
	tests := []struct {
		name  string
		rows  []notification.Template
		items []notification.DigestItem
		want  string
	}{
		{name: "no template", items: reviews, want: "no template for digest/EMAIL/it-CH"},
		{name: "none for the channel", rows: []notification.Template{words("SMS", "en", "", "")}, items: reviews,
			want: "no template for digest/EMAIL/it-CH"},
		{name: "a missing key of an item", rows: []notification.Template{words("EMAIL", "en", "x", "{{range .Items}}{{.stars}}{{end}}")},
			items: reviews, want: `template digest/EMAIL/en: body: key "stars" is missing`},
		{name: "too long", rows: []notification.Template{words("EMAIL", "en", "x", "{{range .Items}}{{.body}}!{{end}}")}, items: long,
			want: "template digest/EMAIL/en: body: longer than 64 KiB"},
	}
	for _, tt := range tests {
		_, err := template.Engine{}.Digest(tt.rows, "REVIEW_POSTED", notification.Email, recipient(), tt.items)
		require.EqualError(t, err, tt.want, tt.name)
	}
}
