package console

import (
	"bytes"
	"strings"
	"testing"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestList(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, id, lastError string
		want                func(t *testing.T, line string)
	}{
		{name: "a long error is cut where the line ends", id: "evt-1-staff10-EMAIL", lastError: strings.Repeat("würde ", 50) + "\nzweite Zeile",
			want: func(t *testing.T, line string) {
				require.Equal(t, lineWidth, utf8.RuneCountInString(line))
				require.True(t, strings.HasSuffix(line, "…"), line)
			}},
		{name: "a long id leaves room for the code at the end of an answer", id: strings.Repeat("x", 150), lastError: "sendgrid gave no clear answer: 503",
			want: func(t *testing.T, line string) { require.Contains(t, line, "answer: 503") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var out bytes.Buffer
			w := tabwriter.NewWriter(&out, 0, 0, columnGap, ' ', 0)
			List(w, []string{"DELIVERY", "LAST ERROR"}, [][]string{{tt.id, tt.lastError}, {"evt-2-staff10-EMAIL", ""}})
			require.NoError(t, w.Flush())

			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			require.Len(t, lines, 3)
			tt.want(t, lines[1])
		})
	}
}
