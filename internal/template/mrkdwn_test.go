package template_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

const slackPayload = `{"link": "https://shop.example/o/7?a=1&b=2", "evil": "<!channel> <@U1> <https://evil.example|bank>", "here": "!here", "mention": "@U1", "name": "Ada & Bob <ada@example.com>",
	"bar": "https://evil.example/|https://bank.example", "label": "a|b\nc", "id": "7 8", "script": "javascript:alert(1)", "app": "myapp://x", "user": "U012AB", "marks": "\u0001<\u0002!here>", "list": [1, 2], "path": "/orders/7"}`

// slack returns the body over SLACK, by a template of the channel.
func slack(t *testing.T, channel, body string) (string, error) {
	t.Helper()
	row := notification.Template{EventType: "*", Channel: channel, Locale: "en", Title: "x", Body: body}
	text, err := engine.NewSet(event(slackPayload), []notification.Template{row}).Render(t.Context(), notification.Slack, recipient())
	return text.Body, err
}

// A template for SLACK may have links and mentions. Data is never one, except where the template makes
// it a link.
func TestSlackMarkup(t *testing.T) {
	t.Parallel()

	for body, want := range map[string]string{
		"Order: https://shop.example/o/7":          "Order: <https://shop.example/o/7>",
		"See https://shop.example/o/7. Bye":        "See <https://shop.example/o/7>. Bye",
		"(https://shop.example/o/7)":               "(<https://shop.example/o/7>)",
		"https://en.example/wiki/Foo_(bar)":        "<https://en.example/wiki/Foo_(bar)>",
		"https://shop.example/?a=1&b=2&":           "<https://shop.example/?a=1&amp;b=2>&amp;",
		"https://shop.example/?a=1&amp;b=2":        "<https://shop.example/?a=1&amp;b=2>",
		"{{.payload.link}}":                        "<https://shop.example/o/7?a=1&amp;b=2>",
		"https://shop.example/{{.payload.user}}/x": "<https://shop.example/U012AB/x>",
		"https://shop.example/{{.payload.evil}}": "<https://shop.example/>&lt;!channel&gt; &lt;@U1&gt; " +
			"&lt;<https://evil.example>|bank&gt;",
		"*https://shop.example* _{{.payload.link}}_":  "*<https://shop.example>* _<https://shop.example/o/7?a=1&amp;b=2>_",
		"https:// http https://":                      "https:// http https://",
		"xhttps://shop.example":                       "xhttps://shop.example",
		"<https://shop.example/o/7|Open it>":          "<https://shop.example/o/7|Open it>",
		"<https://shop.example/o/7>":                  "<https://shop.example/o/7>",
		"<https://shop.example/{{.payload.id}}|Open>": "<https://shop.example/7%208|Open>",
		"<{{.payload.link}}|Open>":                    "<https://shop.example/o/7?a=1&amp;b=2|Open>",
		"<{{.payload.link}}>":                         "<https://shop.example/o/7?a=1&amp;b=2>",
		"<{{.payload.app}}|Open>":                     "<myapp://x|Open>",
		"<{{.payload.link}}|{{.payload.evil}}>": "<https://shop.example/o/7?a=1&amp;b=2|&lt;!channel&gt; &lt;@U1&gt; " +
			"&lt;https://evil.example|bank&gt;>",
		"<{{.payload.link}}|{{.payload.label}}>":            "<https://shop.example/o/7?a=1&amp;b=2|a|b c>",
		"<{{.payload.bar}}|Open>":                           "<https://evil.example/%7Chttps://bank.example|Open>",
		"{{.payload.bar}}":                                  "<https://evil.example/>|<https://bank.example>",
		"<mailto:ada@example.com|Ada> <tel:+4179|Call>":     "<mailto:ada@example.com|Ada> <tel:+4179|Call>",
		"<!here> <!channel> <@U012AB> <#C024BE7LR|general>": "<!here> <!channel> <@U012AB> <#C024BE7LR|general>",
		"<@{{.payload.user}}>":                              "<@U012AB>",
		"<!subteam^{{.payload.user}}>":                      "<!subteam^U012AB>",
		"<!date^1392734382^{date_short} {time}|later>":      "<!date^1392734382^{date_short} {time}|later>",
		"<!{{.payload.user}}>":                              "&lt;!U012AB&gt;",
		"{{.payload.evil}}":                                 "&lt;!channel&gt; &lt;@U1&gt; &lt;<https://evil.example>|bank&gt;",
		"{{.payload.here}} {{.payload.name}}":               "!here Ada &amp; Bob &lt;ada@example.com&gt;",
		"{{.payload.marks}}":                                "&lt;!here&gt;",
		`{{"<!channel>"}} {{print "<" "!here>"}}`:           "&lt;!channel&gt; &lt;!here&gt;",
		`{{printf "<%s|x>" .payload.link}}`:                 "&lt;<https://shop.example/o/7?a=1&amp;b=2>|x&gt;",
		`{{$x := "<!here>"}}{{$x}}`:                         "&lt;!here&gt;",
		"1 < 2, 3 > 2 & 4 <> 5 <b>x</b>":                    "1 &lt; 2, 3 &gt; 2 &amp; 4 &lt;&gt; 5 &lt;b&gt;x&lt;/b&gt;",
		"1 < 2 <https://a.example|b>":                       "1 &lt; 2 <https://a.example|b>",
		"a <https://a.example":                              "a &lt;<https://a.example>",
		"&lt;x&gt; &copy; &":                                "&lt;x&gt; &amp;copy; &amp;",
		"{{range .payload.list}}{{.}},{{end}}":              "1,2,",
		"日本語 https://shop.example/日本。次":                     "日本語 <https://shop.example/日本>。次",
	} {
		got, err := slack(t, "SLACK", body)
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
}

// Data in the place of a link is a link with an allowed scheme, or the delivery fails.
func TestSlackMarkupThatIsBlocked(t *testing.T) {
	t.Parallel()

	for body, key := range map[string]string{
		"<{{.payload.here}}>":                       `key "here"`,
		"<{{.payload.here}}|Open>":                  `key "here"`,
		"<{{.payload.mention}}>":                    `key "mention"`,
		"<{{.payload.script}}|Open>":                `key "script"`,
		"<{{.payload.path}}|Open>":                  `key "path"`,
		"<{{.payload.evil}}|Open>":                  `key "evil"`,
		"<{{with .payload.here}}{{.}}{{end}}|Open>": `key "here"`,
	} {
		_, err := slack(t, "SLACK", body)
		require.EqualError(t, err, "template */SLACK/en: body: "+key+" "+notALink, body)
	}
}

// A template for every channel is plain text. Over SLACK its links can be clicked, too.
func TestSlackPlainText(t *testing.T) {
	t.Parallel()

	for body, want := range map[string]string{
		"Fish & chips <b>: {{.payload.link}}":        "Fish &amp; chips &lt;b&gt;: <https://shop.example/o/7?a=1&amp;b=2>",
		"<!channel> <https://shop.example|Open>":     "&lt;!channel&gt; &lt;<https://shop.example>|Open&gt;",
		"{{.payload.evil}} <{{.payload.here}}> &lt;": "&lt;!channel&gt; &lt;@U1&gt; &lt;<https://evil.example>|bank&gt; &lt;!here&gt; &amp;lt;",
	} {
		got, err := slack(t, "*", body)
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
}

// A digest's template for SLACK keeps the markup of its items. One for every channel gets their text.
func TestSlackDigest(t *testing.T) {
	t.Parallel()

	items := []notification.DigestItem{
		{Title: "<!here>", Body: "<https://shop.example/?a=1&amp;b=2|Open> &lt;!channel&gt; <https://x.example>"},
	}
	for channel, want := range map[string]string{
		"SLACK": "&lt;!here&gt;: <https://shop.example/?a=1&amp;b=2|Open> &lt;!channel&gt; <https://x.example>",
		"*":     "&lt;!here&gt;: Open (<https://shop.example/?a=1&amp;b=2>) &lt;!channel&gt; <https://x.example>",
	} {
		rows := []notification.Template{words(channel, "en", "{{(index .Items 0).body}}", "{{range .Items}}{{.title}}: {{.body}}{{end}}")}
		text, err := template.Engine{}.Digest(rows, "REVIEW_POSTED", notification.Slack, recipient(), items)
		require.NoError(t, err)
		require.Equal(t, want, text.Body)
		require.Equal(t, "Open (https://shop.example/?a=1&b=2) <!channel> https://x.example", text.Title, "a title is plain text")
	}
}
