package problem_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/web/problem"
)

func TestWrite(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name     string
		status   int
		detail   string
		problems []string
		want     string
	}{
		{
			name: "one thing is wrong", status: http.StatusNotFound, detail: "there is no such notification",
			want: `{"type":"about:blank","title":"Not Found","status":404,"detail":"there is no such notification"}`,
		},
		{
			name: "several are", status: http.StatusUnprocessableEntity, detail: "nothing was changed", problems: []string{"a", "b"},
			want: `{"type":"about:blank","title":"Unprocessable Entity","status":422,"detail":"nothing was changed","problems":["a","b"]}`,
		},
		{
			name: "the status says it all", status: http.StatusMethodNotAllowed,
			want: `{"type":"about:blank","title":"Method Not Allowed","status":405}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			answer := httptest.NewRecorder()
			problem.Write(answer, tt.status, tt.detail, tt.problems...)

			require.Equal(t, tt.status, answer.Code)
			require.Equal(t, "application/problem+json", answer.Header().Get("Content-Type"))
			require.JSONEq(t, tt.want, answer.Body.String())
		})
	}
}
