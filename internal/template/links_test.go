package template_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

const notALink = "is not a link that is allowed: a link begins with https:, http:, mailto:, tel:, sms:, cid: or a scheme of " +
	"TEMPLATE_LINK_SCHEMES"

// engine allows the schemes of an app.
var engine = template.Engine{LinkSchemes: []string{"myapp", "com.example.app"}}

// mail returns an e-mail's body.
func mail(t *testing.T, engine template.Engine, payload, body string) (string, error) {
	t.Helper()
	row := notification.Template{EventType: "*", Channel: "EMAIL", Locale: "en", Title: "x", Body: body}
	text, err := engine.NewSet(event(payload), []notification.Template{row}).Render(t.Context(), notification.Email, recipient())
	return text.Body, err
}

// Links with an allowed scheme reach the e-mail, wherever HTML takes a link.
func TestLinksThatPass(t *testing.T) {
	t.Parallel()

	for link, want := range map[string]string{
		"https://shop.example/o/7?a=1&b=2": "https://shop.example/o/7?a=1&amp;b=2",
		"http://shop.example/o/7":          "http://shop.example/o/7",
		"HTTPS://shop.example/":            "HTTPS://shop.example/",
		"mailto:ada@example.com?subject=x": "mailto:ada@example.com?subject=x",
		"tel:+41791234567":                 "tel:&#43;41791234567",
		"TEL:+41791234567":                 "TEL:&#43;41791234567",
		"sms:+41791234567?body=hi":         "sms:&#43;41791234567?body=hi",
		"cid:logo":                         "cid:logo",
		"myapp://order/7":                  "myapp://order/7",
		"com.example.app:/order/7":         "com.example.app:/order/7",
		" https://shop.example/o/7\n":      "https://shop.example/o/7",
		"/orders/7":                        "/orders/7",
		"orders/7:8":                       "orders/7:8",
		"#top":                             "#top",
		"":                                 "",
	} {
		payload := `{"link": ` + quote(link) + `}`
		for body, whole := range map[string]string{
			`<a href="{{.payload.link}}">x</a>`:   `<a href="` + want + `">x</a>`,
			`<img src='{{.payload.link}}'>`:       `<img src='` + want + `'>`,
			`<form action={{.payload.link}}>`:     `<form action=` + strings.ReplaceAll(want, "=", "&#61;") + `>`,
			`<img srcset="{{.payload.link}} 2x">`: `<img srcset="` + want + ` 2x">`,
			`{{with .payload.link}}<a href="{{.}}">x</a>{{end}}`: map[bool]string{
				true: "", false: `<a href="` + want + `">x</a>`,
			}[link == ""],
			`{{define "l"}}<a href="{{.}}">{{end}}{{template "l" .payload.link}}`: `<a href="` + want + `">`,
		} {
			if strings.HasPrefix(body, "<form") && want == "" {
				continue
			}
			got, err := mail(t, engine, payload, body)
			require.NoError(t, err, "%q in %s", link, body)
			require.Equal(t, whole, got, "%q in %s", link, body)
		}
	}
	fixed, err := mail(t, template.Engine{}, `{"tel": "+41791234567", "id": "a b"}`,
		`<a href="tel:{{.payload.tel}}"><a href="myapp://{{.payload.id}}">`)
	require.NoError(t, err)
	require.Equal(t, `<a href="tel:&#43;41791234567"><a href="myapp://a%20b">`, fixed, "a template may use each scheme itself")
}

// A link with another scheme fails the delivery and names the key. No placeholder reaches anybody.
func TestLinksThatAreBlocked(t *testing.T) {
	t.Parallel()

	for _, link := range []string{
		"otherapp://order/7", "javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x",
		"vbscript:x", "ftp://example.com/x", "file:///etc/passwd", "tel :1", "\u00a0\u200bhttps://x",
	} {
		payload := `{"link": ` + quote(link) + `, "customer": {"link": ` + quote(link) + `}, "list": [{"url": ` + quote(link) +
			`}], "images": ` + quote("https://x/a.png 1x, "+link+" 2x") + `}`
		for body, key := range map[string]string{
			`<a href="{{.payload.link}}">x</a>`:                                       `key "link"`,
			"<p>\n<p><a href='{{ .payload.customer.link }}'>x</a>":                    `key "customer.link"`,
			`<a href={{.payload.link}}>x</a>`:                                         `key "link"`,
			`{{range .payload.list}}<img src="{{.url}}">{{end}}`:                      `key "url"`,
			`{{with .payload.link}}<b>{{$.event.id}}</b><a href="{{.}}">x</a>{{end}}`: `key "link"`,
			`{{with index .payload "link"}}<a href="{{.}}">x</a>{{end}}`:              `key "link"`,
			`<a href="{{index .payload "customer" "link"}}">x</a>`:                    `key "customer", "link"`,
			`<p style="background: url('{{.payload.link}}')">`:                        `key "link"`,
			`<img srcset="{{.payload.images}}">`:                                      `key "images"`,
			`{{define "l"}}<a href="{{.}}">{{end}}<p>{{template "l" .payload.link}}`:  "a value",
			`<meta http-equiv="refresh" content="0;url={{.payload.link}}">`:           `key "link"`,
		} {
			_, err := mail(t, engine, payload, body)
			require.EqualError(t, err, "template */EMAIL/en: body: "+key+" "+notALink, "%q in %s", link, body)
		}
	}
}

// Whatever else html/template replaces by a placeholder fails, too.
func TestValuesThatAreBlocked(t *testing.T) {
	t.Parallel()

	const payload = `{"color": "red", "bad": "red; background: url(x)", "quote": "a'b", "escape": "\\28 x", "word": "expression(x)", "tag": "1", "attr": "align", "on": "onclick", "href": "href", "empty": ""}`
	for body, want := range map[string]string{
		`<p style="color: {{.payload.color}}; width: 5%">`: `<p style="color: red; width: 5%">`,
		`<style>p { color: {{.payload.color}} }</style>`:   `<style>p { color: red }</style>`,
		`<h{{.payload.tag}}>x</h{{.payload.tag}}>`:         `<h1>x</h1>`,
		`<td {{.payload.attr}}="left">`:                    `<td align="left">`,
	} {
		got, err := mail(t, engine, payload, body)
		require.NoError(t, err, body)
		require.Equal(t, want, got)
	}
	for body, want := range map[string]string{
		`<p style="color: {{.payload.bad}}">`:           `key "bad" is not allowed in a style`,
		`<p style="color: {{.payload.quote}}">`:         `key "quote" is not allowed in a style`,
		`<p style='color: {{.payload.escape}}'>`:        `key "escape" is not allowed in a style`,
		`<style>p { color: {{.payload.word}} }</style>`: `key "word" is not allowed in a style`,
		`<p {{.payload.on}}="x">`:                       `key "on" is not allowed as a name in a tag`,
		`<p {{.payload.href}}="x">`:                     `key "href" is not allowed as a name in a tag`,
		`<p {{.payload.empty}}>`:                        `key "empty" is not allowed as a name in a tag`,
		`<p data-{{.payload.bad}}="x">`:                 `key "bad" is not allowed as a name in a tag`,
	} {
		_, err := mail(t, engine, payload, body)
		require.EqualError(t, err, "template */EMAIL/en: body: "+want, body)
	}
}

// A text that contains the placeholder is a text like others.
func TestTextWithThePlaceholder(t *testing.T) {
	t.Parallel()

	got, err := mail(t, engine, `{"text": "#ZgotmplZ", "link": "https://x/ZgotmplZ"}`,
		`<a href="{{.payload.link}}" title="{{.payload.text}}">{{.payload.text}} ZgotmplZ</a>`)
	require.NoError(t, err)
	require.Equal(t, `<a href="https://x/ZgotmplZ" title="#ZgotmplZ">#ZgotmplZ ZgotmplZ</a>`, got)
}

// Conditional comments of a template reach Outlook, with their data escaped. Other comments do not, and
// data cannot add any.
func TestConditionalComments(t *testing.T) {
	t.Parallel()

	const payload = `{"link": "https://shop.example/o?a=1&b=2", "width": 600, "evil": "<!--[if mso]>--><![endif]--><script>", "bad": "x:y", "if": true}`
	for body, want := range map[string]string{
		`<!--[if mso]><table width="600"><tr><td><![endif]--><p>Hi</p><!--[if mso]></td></tr></table><![endif]-->`: "",
		`<!--[if (gte mso 9)|(IE)]><table><![endif]-->`:                                                            "",
		`<!--[if !mso]><!--><p>x</p><!--<![endif]-->`:                                                              "",
		`<!--[if !mso]><!-- --><p>x</p><!-- <![endif]-->`:                                                          "",
		`<!--[if !mso]> --><p>x</p><!-- <![endif]-->`:                                                              "",
		`<![if !mso]><p>x</p><![endif]>`:                                                                           "",
		`<!--[IF MSO]><p>x</p><![EndIf]-->`:                                                                        "",
		"<head><!--[if mso]><noscript><xml><o:OfficeDocumentSettings><o:AllowPNG/></o:OfficeDocumentSettings></xml></noscript><![endif]--></head>": "",
		`<!--[if lte mso 11]><style type="text/css">.x { width: 100% !important; }</style><![endif]-->`:                                            "",
		`<!--[if mso]><v:roundrect href="{{.payload.link}}" style="width:{{.payload.width}}px"><![endif]-->`:                                       `<!--[if mso]><v:roundrect href="https://shop.example/o?a=1&amp;b=2" style="width:600px"><![endif]-->`,
		`{{if .payload.if}}<!--[if mso]>{{.payload.width}}<![endif]-->{{end}}`:                                                                     `<!--[if mso]>600<![endif]-->`,
		`{{define "t"}}<!--[if mso]><td><![endif]-->{{end}}{{template "t"}}`:                                                                       `<!--[if mso]><td><![endif]-->`,
		`<!--[if mso]><p title="{{.payload.evil}}">{{.payload.evil}}<![endif]-->`: `<!--[if mso]><p title="&lt;!--[if mso]&gt;--&gt;&lt;![endif]--&gt;&lt;script&gt;">` +
			`&lt;!--[if mso]&gt;--&gt;&lt;![endif]--&gt;&lt;script&gt;<![endif]-->`,
		`{{print "<!--[if mso]>"}}x`: `&lt;!--[if mso]&gt;x`,
		`a<!-- a comment, {{.payload.evil}} -->b<!--[if mso]>c<!-- d -->e<![endif]-->`: `ab<!--[if mso]>ce<![endif]-->`,
		`<p>1 < 2 [if mso]></p>`: `<p>1 &lt; 2 [if mso]></p>`,
	} {
		got, err := mail(t, engine, payload, body)
		require.NoError(t, err, body)
		if want == "" {
			want = body
		}
		require.Equal(t, want, got)
	}
	_, err := mail(t, engine, payload, `<!--[if mso]><a href="{{.payload.bad}}"><![endif]-->`)
	require.EqualError(t, err, `template */EMAIL/en: body: key "bad" `+notALink)
	_, err = mail(t, engine, payload, `{{_condition .payload.evil}}`)
	require.ErrorContains(t, err, `function "_condition" not defined`)
}

// starter check finds links that would be blocked in every event.
func TestUsableHTML(t *testing.T) {
	t.Parallel()

	row := notification.Template{EventType: "*", Channel: "EMAIL", Locale: "en", Title: "x", Body: `<a href="{{.payload.link}}">`}
	require.NoError(t, engine.Usable(row))
}
