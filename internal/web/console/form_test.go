package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A form is valid for one hour, one person, one change and one plan.
func TestForms(t *testing.T) {
	t.Parallel()

	f, now := forms{key: []byte("key")}, time.Unix(1_800_000_000, 0)
	token := f.issue(now, "ada", "delivery retry", "d1")
	id, ok := f.id(now.Add(formLife), token, "ada", "delivery retry", "d1")
	require.True(t, ok)
	require.NotEmpty(t, id)
	for name, try := range map[string]struct {
		forms forms
		at    time.Time
		token string
		binds []string
	}{
		"late":            {f, now.Add(formLife + time.Second), token, []string{"ada", "delivery retry", "d1"}},
		"another person":  {f, now, token, []string{"bob", "delivery retry", "d1"}},
		"shifted fields":  {f, now, token, []string{"ada", "delivery ", "retryd1"}},
		"another key":     {forms{key: []byte("other")}, now, token, []string{"ada", "delivery retry", "d1"}},
		"no token":        {f, now, "", []string{"ada", "delivery retry", "d1"}},
		"another version": {f, now, "x" + token, []string{"ada", "delivery retry", "d1"}},
	} {
		_, ok := try.forms.id(try.at, try.token, try.binds...)
		require.False(t, ok, name)
	}
	require.NotEqual(t, token, f.issue(now, "ada", "delivery retry", "d1"), "each form has its id")
}
