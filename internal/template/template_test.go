package template_test

import (
	"encoding/json"
	"strings"
	"sync"
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
		{name: "plain", channel: notification.SMS, body: "Table for {{.payload.pax}}", want: notification.Text{Body: "Table for 4"}},
		{name: "empty template", channel: notification.SMS, want: notification.Text{}},
		{name: "large integers", channel: notification.SMS, body: "{{.payload.restaurantId}} {{.payload.huge}}",
			want: notification.Text{Body: "9007199254740993 123456789012345678901234567890"}},
		{name: "fractions as written", channel: notification.SMS, body: "{{.payload.price}} {{.payload.ratio}}",
			want: notification.Text{Body: "19.90 1234567.5"}},
		{name: "integers compare", channel: notification.SMS, body: "{{if gt .payload.pax 3}}many{{end}}{{if .payload.kids}} kids{{end}}",
			want: notification.Text{Body: "many"}},
		{name: "null is empty", channel: notification.SMS, body: "[{{.payload.notes}}]{{with .payload.notes}}no{{end}}",
			want: notification.Text{Body: "[]"}},
		{name: "null in a list is empty", channel: notification.SMS, body: "{{range .payload.tables}}[{{.}}]{{end}}",
			want: notification.Text{Body: "[a][][c]"}},
		{name: "an optional key", channel: notification.SMS, body: `[{{with index .payload "missing"}}{{.}}{{end}}]`,
			want: notification.Text{Body: "[]"}},
		{name: "nested", channel: notification.SMS, body: "{{.payload.customer.name}}", want: notification.Text{Body: "Ada"}},
		{name: "printf", channel: notification.SMS, body: `{{printf "%03d" .payload.pax}}`, want: notification.Text{Body: "004"}},
		{name: "recipient", channel: notification.SMS,
			body: "{{.recipient.name}} {{.recipient.user_id}} {{.recipient.user_type}} {{.recipient.locale}}",
			want: notification.Text{Body: "Élodie 10 RESTAURANT_USER it-CH"}},
		{
			name: "event", channel: notification.SMS,
			body: `{{.event.id}} {{.event.type}} {{.event.aggregate_type}}/{{.event.aggregate_id}} {{.event.correlation_id}} {{.event.created_at.Format "02.01.2006 15:04"}}`,
			want: notification.Text{Body: "evt-1 RESERVATION_REQUESTED RESTAURANT/5 corr-1 21.11.2026 10:00"},
		},
		{name: "plain text is not escaped", channel: notification.Push, title: "{{.payload.name}}", body: "{{.payload.name}}",
			want: notification.Text{Title: `<b>Ada</b> & "Co"`, Body: `<b>Ada</b> & "Co"`}},
		{name: "a mail, whose body is escaped and whose title is not", channel: notification.Email, title: "{{.payload.name}}",
			body: "<p>{{.payload.name}}</p>",
			want: notification.Text{Title: `<b>Ada</b> & "Co"`, Body: "<p>&lt;b&gt;Ada&lt;/b&gt; &amp; &#34;Co&#34;</p>"}},
		{name: "a template that escapes by itself", channel: notification.Email, title: "x",
			body: "<p>{{.payload.customer.name | html}} {{html .payload.name}}</p>",
			want: notification.Text{Title: "x", Body: "<p>Ada &lt;b&gt;Ada&lt;/b&gt; &amp; &#34;Co&#34;</p>"}},
		{name: "a loop within a tag", channel: notification.Email, title: "x",
			body: `<p{{range .payload.tables}} {{if .}}id="{{.}}"{{end}}{{end}}>`, want: notification.Text{Title: "x", Body: `<p id="a"  id="c">`}},
		{name: "named parts", channel: notification.SMS, body: `{{define "t"}}[{{.}}]{{end}}{{range .payload.tables}}{{template "t" .}}{{end}}`,
			want: notification.Text{Body: "[a][][c]"}},
		{name: "half a character", channel: notification.SMS, body: "{{slice .recipient.name 0 1}}", want: notification.Text{Body: "\uFFFD"}},
		{name: "a null byte, which cannot be stored", channel: notification.SMS, body: `a{{"\x00"}}b`, want: notification.Text{Body: "ab"}},
	}
	for _, tt := range tests {
		row := notification.Template{
			EventType: "RESERVATION_REQUESTED", Channel: string(tt.channel), Locale: "en", Title: tt.title, Body: tt.body,
		}
		got, err := template.Engine{}.NewSet(event(payload), []notification.Template{row}).Render(t.Context(), tt.channel, recipient())
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, got, tt.name)
	}
}

// A template for every channel is plain text. A mail turns it into HTML.
func TestRenderPlainTextAsMail(t *testing.T) {
	t.Parallel()

	row := notification.Template{
		EventType: "*", Channel: "*", Locale: "en", Title: "{{.payload.name}} <1>", Body: "Dear {{.payload.name}},\r\n1 < 2 &\nbye",
	}
	set := template.Engine{}.NewSet(event(`{"name": "<Ada>"}`), []notification.Template{row})

	mail, err := set.Render(t.Context(), notification.Email, recipient())
	require.NoError(t, err)
	require.Equal(t, notification.Text{Title: "<Ada> <1>", Body: "Dear &lt;Ada&gt;,<br>\n1 &lt; 2 &amp;<br>\nbye"}, mail)

	text, err := set.Render(t.Context(), notification.SMS, recipient())
	require.NoError(t, err)
	require.Equal(t, notification.Text{Title: "<Ada> <1>", Body: "Dear <Ada>,\r\n1 < 2 &\nbye"}, text)
}

func TestRenderErrors(t *testing.T) {
	t.Parallel()

	payload := `{"name": "hunter2", "forged": ">: map has no entry for key \"hunter2\"", "space": " \u2028\u00a0\r\n", "list": ["hunter2"], "amp": "` + strings.Repeat("&", 2000) + `"}`
	tests := []struct {
		name        string
		title, body string
		want        string
	}{
		{name: "missing key in the title", title: "{{.payload.restaurantId}}", body: "x", want: `title: key "restaurantId" is missing`},
		{name: "missing key in the body", title: "x", body: "\n{{.payload.restaurantId}}", want: `body: key "restaurantId" is missing`},
		{name: "missing key in a loop", title: "x", body: "{{range .payload.list}}{{$.payload.nothing}}{{end}}",
			want: `body: key "nothing" is missing`},
		{name: "missing key of a missing key", title: "x", body: "{{.payload.customer.name}}", want: `body: key "customer" is missing`},
		{name: "key of a text", title: "x", body: "{{.payload.name.first}}", want: `body: key "first" is missing`},
		{name: "missing root", title: "x", body: "{{.restaurantId}}", want: `body: key "restaurantId" is missing`},
		{name: "no addresses", title: "x", body: "{{.recipient.email}}", want: `body: key "email" is missing`},
		{name: "function on a text instead of an object", title: "x", body: "a\n{{index .payload.name .payload.name}}",
			want: "body cannot be rendered: line 2 does not fit the data"},
		{name: "comparison of a text with a number", title: "x", body: "{{if gt .payload.name 3}}{{end}}",
			want: "body cannot be rendered: line 1 does not fit the data"},
		{name: "loop over a text", title: "x", body: "{{range $i, $c := .payload.name}}{{end}}",
			want: "body cannot be rendered: line 1 does not fit the data"},
		{name: "a text that looks like an error", title: "x", body: "{{range $i, $c := .payload.forged}}{{end}}",
			want: "body cannot be rendered: line 1 does not fit the data"},
		{name: "syntax", title: "x", body: "{{.payload.name", want: "cannot be parsed: template: body:1: unclosed action"},
		{name: "unknown function", title: "{{env}}", body: "x", want: `cannot be parsed: template: title:1: function "env" not defined`},
		{name: "not HTML", title: "x", body: `<a href="{{if .payload.name}}"{{end}}>`,
			want: "the HTML of body cannot be escaped: {{if}} branches end in different contexts"},
		{name: "empty title", body: "x", want: "the title is empty, and EMAIL needs one"},
		{name: "blank title", title: "{{.payload.space}}", body: "x", want: "the title is empty, and EMAIL needs one"},
		{name: "template too long", title: "x", body: strings.Repeat("x", 65537), want: "body: the template is longer than 64 KiB"},
		{name: "text too long", title: "x", body: "{{range 70}}" + strings.Repeat("x", 1000) + "{{end}}", want: "body: longer than 64 KiB"},
		{name: "text too long after escaping", title: "x", body: "{{range 7}}{{$.payload.amp}}{{end}}", want: "body: longer than 64 KiB"},
	}
	for _, tt := range tests {
		row := notification.Template{EventType: "*", Channel: "EMAIL", Locale: "it_CH", Title: tt.title, Body: tt.body}
		got, err := template.Engine{}.NewSet(event(payload), []notification.Template{row}).Render(t.Context(), notification.Email, recipient())
		require.EqualError(t, err, "template */EMAIL/it_CH: "+tt.want, tt.name)
		require.Empty(t, got, tt.name)
	}
}

func TestRenderPlainTextTooLongAsMail(t *testing.T) {
	t.Parallel()

	row := notification.Template{EventType: "*", Channel: "*", Locale: "en", Title: "x", Body: strings.Repeat("&", 20_000)}
	set := template.Engine{}.NewSet(event(`{}`), []notification.Template{row})

	_, err := set.Render(t.Context(), notification.Email, recipient())
	require.EqualError(t, err, "template */*/en: body: longer than 64 KiB")
	_, err = set.Render(t.Context(), notification.SMS, recipient())
	require.NoError(t, err)
}

// A gateway holds many WEBSOCKET texts, so each is short.
func TestRenderForWebSocket(t *testing.T) {
	t.Parallel()

	row := notification.Template{EventType: "*", Channel: "*", Locale: "en", Title: "Title", Body: "{{range .payload.words}}{{.}}{{end}}"}
	for length, want := range map[int]string{
		4091: "", 4092: "template */*/en: title and body are longer than 4 KiB, the most over WEBSOCKET",
	} {
		set := template.Engine{}.NewSet(event(`{"words":["`+strings.Repeat("x", length)+`"]}`), []notification.Template{row})
		_, err := set.Render(t.Context(), notification.SMS, recipient())
		require.NoError(t, err)
		_, err = set.Render(t.Context(), notification.WebSocket, recipient())
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}
}

func TestRenderMalformedPayload(t *testing.T) {
	t.Parallel()

	row := notification.Template{EventType: "*", Channel: "*", Locale: "en", Title: "x", Body: "x"}
	_, err := template.Engine{}.NewSet(event(`{"name": "hunter2`), []notification.Template{row}).Render(t.Context(), notification.SMS,
		recipient())
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

// Templates that run for ever or fill the memory are stopped, in plain text and in HTML.
func TestRenderIsBounded(t *testing.T) {
	t.Parallel()

	const (
		slow    = "body: took longer than 100 ms"
		long    = "body: longer than 64 KiB"
		columns = "body: the format of printf is longer than 256 bytes, or wider than 999 columns"
	)
	tests := []struct{ name, body, want string }{
		{name: "a long loop without output", body: "{{range 9000000000000}}{{end}}", want: slow},
		{name: "a long loop with assignments", body: "{{range 9000000000000}}{{$x := 1}}{{end}}", want: slow},
		{name: "loops in loops", body: "{{range 90000000}}{{range 90000000}}{{end}}{{end}}", want: slow},
		{name: "a loop in a condition", body: "{{if true}}{{with 1}}{{range 9000000000000}}{{end}}{{end}}{{end}}", want: slow},
		{name: "a loop in an alternative", body: "{{if false}}{{else}}{{range 0}}{{else}}{{range 9000000000000}}{{end}}{{end}}{{end}}",
			want: slow},
		{name: "a loop in a part", body: `{{define "t"}}{{range 9000000000000}}{{end}}{{end}}{{template "t"}}`, want: slow},
		{name: "a loop that continues", body: "{{range 9000000000000}}{{continue}}{{end}}", want: slow},
		{name: "a part that calls itself twice",
			body: `{{define "t"}}{{if lt (len .) 60}}{{template "t" (print . "x")}}{{template "t" (print . "x")}}{{end}}{{end}}{{template "t" ""}}`,
			want: slow},
		{name: "a long text", body: "{{range 9000000000000}}" + strings.Repeat("x", 1000) + "{{end}}", want: long},
		{name: "a text doubled in a loop", body: `{{$s := "xx"}}{{range 90}}{{$s = print $s $s}}{{end}}`, want: long},
		{name: "a text doubled by printf", body: `{{$s := "xx"}}{{range 90}}{{$s = printf "%s%s" $s $s}}{{end}}`, want: long},
		{name: "a text doubled by println", body: `{{$s := "xx"}}{{range 90}}{{$s = println $s $s}}{{end}}`, want: long},
		{name: "a text doubled by js", body: `{{$s := "\\"}}{{range 90}}{{$s = js $s}}{{end}}`, want: long},
		{name: "a wide number", body: `{{printf "%1000000d" 1}}`, want: columns},
		{name: "a precise number", body: `{{printf "%.1000000f" 1.0}}`, want: columns},
		{name: "a width from an argument", body: `{{printf "%*d" 1000000 1}}`, want: columns},
		{name: "a long format", body: `{{printf "` + strings.Repeat("%d", 200) + `" 1}}`, want: columns},
	}
	for _, tt := range tests {
		for _, channel := range []notification.Channel{notification.SMS, notification.Email} {
			t.Run(tt.name+" "+string(channel), func(t *testing.T) {
				t.Parallel()

				row := notification.Template{EventType: "*", Channel: string(channel), Locale: "en", Title: "x", Body: tt.body}
				_, err := template.Engine{}.NewSet(event(`{}`), []notification.Template{row}).Render(t.Context(), channel, recipient())

				require.EqualError(t, err, "template */"+string(channel)+"/en: "+tt.want)
			})
		}
	}
}

// The time limit or the depth limit stops a template that calls itself.
func TestRenderStopsRecursion(t *testing.T) {
	t.Parallel()

	row := notification.Template{EventType: "*", Channel: "*", Locale: "en", Body: `{{define "t"}}{{template "t"}}{{end}}{{template "t"}}`}
	_, err := template.Engine{}.NewSet(event(`{}`), []notification.Template{row}).Render(t.Context(), notification.SMS, recipient())
	require.ErrorContains(t, err, "template */*/en: body")
}

func TestSetIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()

	set := template.Engine{}.NewSet(event(`{"n": 1}`), []notification.Template{
		{EventType: "*", Channel: "EMAIL", Locale: "en", Title: "{{.payload.n}}", Body: "<p>{{.payload.n}}</p>"},
		{EventType: "*", Channel: "*", Locale: "en", Title: "{{.payload.n}}", Body: "{{.payload.n}}"},
	})
	var all sync.WaitGroup
	texts := make([]notification.Text, 50)
	for i := range texts {
		all.Go(func() {
			channel := notification.Channels()[i%5]
			texts[i], _ = set.Render(t.Context(), channel, recipient())
		})
	}
	all.Wait()
	for i, text := range texts {
		want := notification.Text{Title: "1", Body: "1"}
		if notification.Channels()[i%5] == notification.Email {
			want.Body = "<p>1</p>"
		}
		require.Equal(t, want, text)
	}
}

// A wrong url leaves the text without a link. Only channels with links write it.
func TestRenderURL(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		channel notification.Channel
		url     string
		want    string
		problem string
	}{
		{name: "no url", channel: notification.WebSocket},
		{name: "a path", channel: notification.WebSocket, url: "/orders/{{.payload.id}}?q={{.payload.q | urlquery}}", want: "/orders/7?q=a%26b"},
		{name: "https", channel: notification.Webhook, url: " {{if .payload.id}}https://app.example.com/{{.payload.id}}{{end}}\n",
			want: "https://app.example.com/7"},
		{name: "empty for this event", channel: notification.WebSocket, url: "{{with index .payload \"page\"}}/{{.}}{{end}}"},
		{name: "a path over PUSH", channel: notification.Push, url: "/orders/{{.payload.id}}", want: "/orders/7"},
		{name: "https over SLACK", channel: notification.Slack, url: "https://app.example.com/{{.payload.id}}",
			want: "https://app.example.com/7"},
		{name: "a path over SLACK, which has no page", channel: notification.Slack, url: "/orders/7"},
		{name: "a channel without links", channel: notification.SMS, url: "/orders/7"},
		{name: "a channel with links in its texts alone", channel: notification.Email, url: "/orders/7"},
		{name: "another scheme", channel: notification.WebSocket, url: "{{.payload.script}}", problem: "the url must be https"},
		{name: "another host", channel: notification.WebSocket, url: "/{{.payload.path}}", problem: "the url must be https"},
		{name: "a missing key", channel: notification.WebSocket, url: "/{{.payload.page}}", problem: `url: key "page" is missing`},
		{name: "a syntax error", channel: notification.WebSocket, url: "/{{.payload", problem: "cannot be parsed"},
	}
	for _, tt := range tests {
		row := notification.Template{EventType: "*", Channel: "*", Locale: "en", Title: "Title", Body: "Body", URL: tt.url}
		set := template.Engine{}.NewSet(event(`{"id": 7, "q": "a&b", "script": "javascript:alert(1)", "path": "/evil.example.com"}`),
			[]notification.Template{row})
		got, err := set.Render(t.Context(), tt.channel, recipient())
		require.NoError(t, err, tt.name)
		require.Equal(t, "Title Body "+tt.want, got.Title+" "+got.Body+" "+got.URL, tt.name)
		if tt.problem == "" {
			require.NoError(t, got.URLProblem, tt.name)
		} else {
			require.ErrorContains(t, got.URLProblem, tt.problem, tt.name)
		}
	}
}

// Herald drops a slow url, but not its title and body.
func TestSlowURL(t *testing.T) {
	t.Parallel()

	row := notification.Template{
		EventType: "*", Channel: "*", Locale: "en", Title: "Title", Body: "Body", URL: "{{range 9000000000000}}{{end}}",
	}
	set := template.Engine{}.NewSet(event("{}"), []notification.Template{row})
	for range 100 { // would take more than ten seconds
		got, err := set.Render(t.Context(), notification.WebSocket, recipient())
		require.NoError(t, err)
		require.Equal(t, "Body", got.Body)
		require.Error(t, got.URLProblem)
	}
}

// A title is one line on every channel. So nothing can add a header.
func TestTitleIsOneLine(t *testing.T) {
	t.Parallel()

	for title, want := range map[string]string{
		"Hello\n": "Hello", "\r\n Hello \r\n\r\n": "Hello", "News of {{.payload.shop}}": "News of Trattoria da Ada", "a \n\t b": "a b",
		"a\r\nBcc: x@example.com": "a Bcc: x@example.com",
		"a\rb\vc\fd":              "a b c d", "a\u2028b\u2029c\u0085d": "a b c d", "a  b\tc": "a  b\tc", "{{.payload.lines}}": "x y",
		"{{.payload.end}}": "z", "{{range .payload.list}}\n{{.}}\n{{end}}": "1 2",
	} {
		row := notification.Template{EventType: "*", Channel: "*", Locale: "en", Title: title, Body: "x"}
		set := template.Engine{}.NewSet(event(`{"shop": "Trattoria\nda Ada", "lines": "x\r\n\u2028 y", "end": "z\n", "list": [1, 2]}`),
			[]notification.Template{row})
		for _, channel := range notification.Channels() {
			got, err := set.Render(t.Context(), channel, recipient())
			require.NoError(t, err)
			require.Equal(t, want, got.Title, "%q over %s", title, channel)
		}
	}
}
