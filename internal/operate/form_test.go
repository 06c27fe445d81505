package operate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/operate"
)

// A form is valid for one hour, one person, one change and one plan.
func TestForms(t *testing.T) {
	t.Parallel()

	f, now := operate.Forms{Key: []byte("key")}, time.Unix(1_800_000_000, 0)
	token := f.Issue(now, "ada", "delivery retry", "d1")
	id, ok := f.ID(now.Add(operate.FormLife), token, "ada", "delivery retry", "d1")
	require.True(t, ok)
	require.NotEmpty(t, id)
	for name, try := range map[string]struct {
		forms operate.Forms
		at    time.Time
		token string
		binds []string
	}{
		"late":            {f, now.Add(operate.FormLife + time.Second), token, []string{"ada", "delivery retry", "d1"}},
		"another person":  {f, now, token, []string{"bob", "delivery retry", "d1"}},
		"shifted fields":  {f, now, token, []string{"ada", "delivery ", "retryd1"}},
		"another key":     {operate.Forms{Key: []byte("other")}, now, token, []string{"ada", "delivery retry", "d1"}},
		"no token":        {f, now, "", []string{"ada", "delivery retry", "d1"}},
		"another version": {f, now, "x" + token, []string{"ada", "delivery retry", "d1"}},
	} {
		_, ok := try.forms.ID(try.at, try.token, try.binds...)
		require.False(t, ok, name)
	}
	require.NotEqual(t, token, f.Issue(now, "ada", "delivery retry", "d1"), "each form has its id")
}
