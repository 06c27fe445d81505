package problem_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/web/problem"
)

// An error has its mistakes, if there are several, and a detail, unless the status is enough.
func TestWrite(t *testing.T) {
	t.Parallel()

	answer := httptest.NewRecorder()
	problem.Write(answer, http.StatusUnprocessableEntity, "nothing was changed", "a", "b")
	require.Equal(t, http.StatusUnprocessableEntity, answer.Code)
	require.Equal(t, "application/problem+json", answer.Header().Get("Content-Type"))
	require.JSONEq(t,
		`{"type":"about:blank","title":"Unprocessable Entity","status":422,"detail":"nothing was changed","problems":["a","b"]}`,
		answer.Body.String())

	answer = httptest.NewRecorder()
	problem.Write(answer, http.StatusMethodNotAllowed, "")
	require.JSONEq(t, `{"type":"about:blank","title":"Method Not Allowed","status":405}`, answer.Body.String())
}
