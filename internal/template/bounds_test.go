package template_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

// Templates that would run for ever or fill the memory are stopped, in plain text and
// in HTML.
func TestRenderIsBounded(t *testing.T) {
	t.Parallel()

	const (
		slow    = "body: took longer than 100 ms"
		long    = "body: longer than 64 KiB"
		columns = "body: the format of printf is longer than 256 bytes, or wider than 999 columns"
	)
	tests := []struct{ name, body, want string }{
		{name: "a long loop that says nothing", body: "{{range 9000000000000}}{{end}}", want: slow},
		{name: "a long loop that thinks", body: "{{range 9000000000000}}{{$x := 1}}{{end}}", want: slow},
		{name: "loops in loops", body: "{{range 90000000}}{{range 90000000}}{{end}}{{end}}", want: slow},
		{name: "a loop in a condition", body: "{{if true}}{{with 1}}{{range 9000000000000}}{{end}}{{end}}{{end}}", want: slow},
		{name: "a loop in an alternative", body: "{{if false}}{{else}}{{range 0}}{{else}}{{range 9000000000000}}{{end}}{{end}}{{end}}", want: slow},
		{name: "a loop in a part", body: `{{define "t"}}{{range 9000000000000}}{{end}}{{end}}{{template "t"}}`, want: slow},
		{name: "a loop that goes on", body: "{{range 9000000000000}}{{continue}}{{end}}", want: slow},
		{name: "two parts of themselves", body: `{{define "t"}}{{if lt (len .) 60}}{{template "t" (print . "x")}}{{template "t" (print . "x")}}{{end}}{{end}}{{template "t" ""}}`, want: slow},
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
				_, err := template.NewSet(event(`{}`), []notification.Template{row}).Render(t.Context(), channel, recipient())

				require.EqualError(t, err, "template */"+string(channel)+"/en: "+tt.want)
			})
		}
	}
}

// A template that calls itself is stopped by the time or by the depth.
func TestRenderBoundlessRecursion(t *testing.T) {
	t.Parallel()

	row := notification.Template{EventType: "*", Channel: "*", Locale: "en", Body: `{{define "t"}}{{template "t"}}{{end}}{{template "t"}}`}
	_, err := template.NewSet(event(`{}`), []notification.Template{row}).Render(t.Context(), notification.SMS, recipient())
	require.ErrorContains(t, err, "template */*/en: body")
}

func TestSetServesManyAtOnce(t *testing.T) {
	t.Parallel()

	set := template.NewSet(event(`{"n": 1}`), []notification.Template{
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
