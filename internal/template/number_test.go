package template_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

// rendered returns the body of an event over a channel, by a template of the channel.
func rendered(t *testing.T, channel notification.Channel, payload, body string) (string, error) {
	t.Helper()
	row := notification.Template{EventType: "*", Channel: string(channel), Locale: "en", Title: "x", Body: body}
	text, err := template.Engine{}.NewSet(event(payload), []notification.Template{row}).Render(t.Context(), channel, recipient())
	return text.Body, err
}

// textChannels have each kind of markup.
var textChannels = []notification.Channel{notification.SMS, notification.Email, notification.Slack}

// requireEverywhere requires the same body, or the same error, with each kind of markup.
func requireEverywhere(t *testing.T, payload, body, want, wantErr string) {
	t.Helper()
	for _, channel := range textChannels {
		got, err := rendered(t, channel, payload, body)
		if wantErr != "" {
			require.EqualError(t, err, "template */"+string(channel)+"/en: "+wantErr, "%s over %s", body, channel)
			continue
		}
		require.NoError(t, err, "%s over %s", body, channel)
		require.Equal(t, want, got, "%s over %s", body, channel)
	}
}

// A number of the payload has the form that every verb for numbers gives to a number with its digits.
func TestPrintfOfNumbers(t *testing.T) {
	t.Parallel()

	tests := []struct{ number, format, want string }{
		{"12.5", "%.2f", "12.50"},
		{"12", "%.2f", "12.00"},
		{"12.0", "%.2f", "12.00"},
		{"1.005", "%.2f", "1.01"}, // no binary fraction is 1.005
		{"2.675", "%.2f", "2.68"},
		{"0.1", "%.20f", "0.10000000000000000000"},
		{"12345678901234567890.12", "%.2f", "12345678901234567890.12"},
		{"-0.5", "%.1f", "-0.5"},
		{"1e3", "%.1f", "1000.0"},
		{"12", "%f", "12.000000"},
		{"12.5", "%8.2f|", "   12.50|"},
		{"12.5", "%-8.2f|", "12.50   |"},
		{"12.5", "%08.2f", "00012.50"},
		{"12.5", "%+.1f", "+12.5"},
		{"12.5", "%F", "12.500000"},
		{"12", "%d", "12"},
		{"12.0", "%d", "12"},
		{"1.2e1", "%d", "12"},
		{"7", "%05d", "00007"},
		{"7", "%+d", "+7"},
		{"-7", "%5d|", "   -7|"},
		{"9223372036854775808", "%d", "9223372036854775808"},
		{"123456789012345678901234567890", "%040d", "0000000000123456789012345678901234567890"},
		{"1234.5", "%e", "1.234500e+03"},
		{"1234.5", "%.1E", "1.2E+03"},
		{"19.90", "%g", "19.9"},
		{"1000000", "%g", "1e+06"},
		{"255", "%x", "ff"},
		{"255", "%#X", "0XFF"},
		{"255", "%o", "377"},
		{"5", "%b", "101"},
		{"65", "%c", "A"},
		{"0.5", "%x", "0x1p-01"},
		{"19.90", "%v", "19.90"},
		{"19.90", "%s", "19.90"},
		{"19.90", "%8v|", "   19.90|"},
		{"19.90", "%+v", "+19.90"},
		{"-19.90", "%08v", "-0019.90"},
		{"0.00", "%v", "0.00"},
		{"0", "%05d", "00000"},
		{"0", "%.1f", "0.0"},
		{"12", "%[1]d of %[1]v", "12 of 12"},
		{"20", "%d%% off", "20% off"},
		{"20", "%d%%!", "20%!"},
	}
	for _, tt := range tests {
		body := `{{printf "` + tt.format + `" .payload.n}}`
		got, err := rendered(t, notification.SMS, `{"n": `+tt.number+`}`, body)
		require.NoError(t, err, "%s %s", tt.format, tt.number)
		require.Equal(t, tt.want, got, "%s %s", tt.format, tt.number)
		piped, err := rendered(t, notification.SMS, `{"n": `+tt.number+`}`, `{{.payload.n | printf "`+tt.format+`"}}`)
		require.NoError(t, err)
		require.Equal(t, tt.want, piped)
	}
	quoted, err := rendered(t, notification.SMS, `{"n": 19.90}`, `{{printf "%q" .payload.n}}`)
	require.NoError(t, err)
	require.Equal(t, `"19.90"`, quoted)
}

// A format that does not fit its value fails the delivery, and names the key. Fmt's own text about it
// reaches nobody.
func TestPrintfThatDoesNotFit(t *testing.T) {
	t.Parallel()

	const payload = `{"name": "hunter2", "total": 12.5, "vip": true, "list": [1, "hunter2"], "customer": {"age": 7.5}, "huge": 1e999999}`
	tests := []struct{ body, keys string }{
		{`{{printf "%d" .payload.total}}`, `key "total"`},
		{"line one\n\n  {{ printf \"%d\" .payload.total }}", `key "total"`},
		{`{{.payload.total | printf "%d"}}`, `key "total"`},
		{`{{printf "%f" .payload.name}}`, `key "name"`},
		{`{{printf "%05d" .payload.name}}`, `key "name"`},
		{`{{printf "%d" .payload.vip}}`, `key "vip"`},
		{`{{printf "%t" .payload.total}}`, `key "total"`},
		{`{{printf "%.2s" .payload.total}}`, `key "total"`},
		{`{{printf "%d" .payload.list}}`, `key "list"`},
		{`{{printf "%d" .payload.customer}}`, `key "customer"`},
		{`{{printf "%d" .payload.customer.age}}`, `key "customer.age"`},
		{`{{with .payload.customer}}{{printf "%d" .age}}{{end}}`, `key "age"`},
		{`{{with .payload.total}}<b>{{printf "%d" .}}</b>{{end}}`, `key "total"`},
		{`{{range .payload.list}}{{printf "%d" .}}{{end}}`, `key "list"`},
		{`{{printf "%d" (index .payload "total")}}`, `key "total"`},
		{`{{printf "%s" (index .payload "missing")}}`, `key "missing"`},
		{`{{printf "%s %s" .payload.name}}`, `key "name"`},
		{`{{printf "%s" .payload.name .payload.vip}}`, `key "name", "vip"`},
		{`{{printf "%[2]s" .payload.name}}`, `key "name"`},
		{`{{printf "%y" .payload.name}}`, `key "name"`},
		{`{{printf "%T" .payload.total}}`, `key "total"`},
		{`{{printf "%p" .payload.list}}`, `key "list"`},
		{`{{printf "%.2f" .payload.huge}}`, `key "huge"`},
		{`{{printf "100%"}}`, "a value"},
		{`{{printf .payload.name 5}}`, `key "name"`},
	}
	for _, tt := range tests {
		requireEverywhere(t, payload, tt.body, "", "body: "+tt.keys+" does not fit the format of its printf")
	}
}

// Data may contain what looks like an error text of fmt.
func TestPrintfOfTextsThatLookLikeErrors(t *testing.T) {
	t.Parallel()

	const payload = `{"joke": "Save 20%!d(int=5) now%!", "many": ["%!s(MISSING)"]}`
	requireEverywhere(t, payload, `{{printf "%s" .payload.joke}} {{.payload.joke}} {{printf "%v" .payload.many}}`,
		"Save 20%!d(int=5) now%! Save 20%!d(int=5) now%! [%!s(MISSING)]", "")
}

// Numbers compare by value with numbers of any form.
func TestNumbersCompare(t *testing.T) {
	t.Parallel()

	const payload = `{"whole": 120, "point": 120.0, "exp": 1.2e2, "cents": 120.50, "price": 19.90, "neg": -3, "zero": 0, "zeros": 0.00,
		"big": 9223372036854775808, "bigger": 9223372036854775809, "tenth": 0.1, "name": "12", "empty": "", "none": null, "list": [5]}`
	for condition, want := range map[string]bool{
		"gt .payload.whole 100": true, "gt .payload.point 100": true, "gt .payload.exp 100": true, "gt .payload.cents 100": true,
		"gt .payload.cents 120.5": false,
		"ge .payload.cents 120.5": true, "lt .payload.price 20": true, "le .payload.price 19.90": true, "eq .payload.price 19.90": true,
		"eq .payload.price 19.9": true,
		"eq .payload.tenth 0.1":  true, "ne .payload.price 19": true, "eq .payload.whole .payload.point": true,
		"eq .payload.whole .payload.point .payload.exp": true,
		"eq .payload.whole 1 2 120":                     true, "eq .payload.whole 1 2": false, "lt .payload.neg 0": true,
		"gt .payload.neg -3.5": true, "eq .payload.zero .payload.zeros": true,
		"lt .payload.big .payload.bigger": true, "gt .payload.big 9223372036854775807": true, "eq .payload.big .payload.bigger": false,
		"ge .payload.bigger 0x7fffffffffffffff": true,
		"eq (len .payload.name) 2":              true, "gt .payload.whole (len .payload.name)": true, "eq (index .payload.list 0) 5": true,
		`eq .payload.name "12"`: true, `lt .payload.name "13"`: true, `ne .payload.name "13"`: true, "eq true true": true,
		"eq .event.created_at .event.created_at": true,
		`eq .payload.none ""`:                    true, `eq (index .payload "missing") ""`: true, `eq (index .payload "missing") 3`: false,
		`ne (index .payload "missing") "a"`: true,
	} {
		requireEverywhere(t, payload, "{{if "+condition+"}}yes{{else}}no{{end}}", map[bool]string{true: "yes", false: "no"}[want], "")
	}
	for _, condition := range []string{
		"gt .payload.name 3", `eq .payload.whole "120"`, "lt .payload.vip 1", "gt .payload.list 3", "eq .payload.whole true", "lt true false",
		"eq 1", `lt (index .payload "missing") 3`,
	} {
		_, err := rendered(t, notification.SMS, `{"vip": true, "name": "12", "whole": 120, "list": [5]}`, "{{if "+condition+"}}{{end}}")
		require.EqualError(t, err, "template */SMS/en: body cannot be rendered: line 1 does not fit the data", condition)
	}
}

// A number in any form is false when it is zero, prints its digits, and counts.
func TestNumbersInTemplates(t *testing.T) {
	t.Parallel()

	const payload = `{"total": 19.90, "fee": 0.00, "none": 0, "minus": -0.0, "power": 0e5, "huge": 1e400, "tiny": 1E-400, "three": 3, "threes": 3.0, "big": 123456789012345678901234567890,
		"list": ["a", "b", "c", "d"], "nested": [[1.50, 2]], "text": "abcdef", "null": null}`
	for body, want := range map[string]string{
		"{{.payload.total}} {{.payload.fee}} {{.payload.huge}} {{.payload.tiny}} " +
			"{{.payload.big}}": "19.90 0.00 1e400 1E-400 123456789012345678901234567890",
		"{{if .payload.fee}}fee{{else}}free{{end}}":                                                                 "free",
		"{{if .payload.none}}yes{{else}}no{{end}}":                                                                  "no",
		"{{with .payload.minus}}{{.}}{{else}}none{{end}}":                                                           "none",
		"{{with .payload.power}}{{.}}{{else}}none{{end}}":                                                           "none",
		"{{with .payload.tiny}}{{.}}{{end}}":                                                                        "1E-400",
		"{{if and .payload.total .payload.fee}}both{{else}}not both{{end}}":                                         "not both",
		"{{or .payload.fee .payload.total}}":                                                                        "19.90",
		"{{and .payload.total .payload.fee}}":                                                                       "0.00",
		"{{if not .payload.fee}}free{{end}}{{if not .payload.total}}no{{end}}":                                      "free",
		"{{$x := .payload.fee}}{{$x}}{{if $x}}no{{end}}":                                                            "0.00",
		"{{index .payload.list .payload.three}}{{index .payload.list .payload.threes}}":                             "dd",
		"{{index .payload.nested 0 0}}":                                                                             "1.50",
		"{{slice .payload.text 1 .payload.three}}":                                                                  "bc",
		"{{range .payload.three}}x{{end}}{{range $i := .payload.threes}}{{$i}}{{end}}":                              "xxx012",
		"{{range .payload.none}}x{{else}}nothing{{end}}":                                                            "nothing",
		"{{range .payload.null}}x{{else}}nothing{{end}}":                                                            "nothing",
		`{{range $i, $v := .payload.list}}{{if $i}}, {{end}}{{$v}}{{end}}`:                                          "a, b, c, d",
		"{{.payload.nested}}":                                                                                       "[[1.50 2]]",
		`{{print .payload.total "/" .payload.three}}`:                                                               "19.90/3",
		`{{urlquery .payload.total}} {{js .payload.total}}`:                                                         "19.90 19.90",
		`[{{index .payload "missing"}}][{{index .payload "missing" "name"}}][{{print (index .payload "missing")}}]`: "[][][]",
	} {
		requireEverywhere(t, payload, body, want, "")
	}
	for _, body := range []string{
		"{{len .payload.three}}", "{{index .payload.three 0}}", "{{slice .payload.three 0 1}}", "{{range .payload.total}}{{end}}",
		"{{index .payload.list .payload.total}}",
		"{{index .payload.list 4}}", "{{index .payload.list -1}}", "{{slice .payload.text 4 2}}", "{{slice .payload.text 0 7}}",
		"{{range .payload.huge}}{{end}}", "{{len true}}",
	} {
		requireEverywhere(t, payload, body, "", "body cannot be rendered: line 1 does not fit the data")
	}
}

// Numbers keep their digits in each place of an e-mail's HTML.
func TestNumbersInHTML(t *testing.T) {
	t.Parallel()

	got, err := rendered(t, notification.Email, `{"w": 19.90, "id": 653247040368672768}`,
		`<td width="{{.payload.w}}" style="width: {{.payload.w}}px"><a href="/o/{{.payload.id}}?w={{.payload.w}}">{{.payload.id}}</a><script type="application/ld+json">{"id": {{.payload.id}}, "w": {{.payload.w}}}</script>`)
	require.NoError(t, err)
	require.Equal(t,
		`<td width="19.90" style="width: 19.90px"><a href="/o/653247040368672768?w=19.90">653247040368672768</a><script type="application/ld+json">{"id":  653247040368672768 , "w":  19.90 }</script>`,
		got)
}

// quote returns a text in JSON.
func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}
