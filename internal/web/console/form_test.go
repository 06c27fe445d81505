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
	for name, try := range map[string]func() (string, bool){
		"late": func() (string, bool) {
			return f.id(now.Add(formLife+time.Second), token, "ada", "delivery retry", "d1")
		},
		"another person": func() (string, bool) { return f.id(now, token, "bob", "delivery retry", "d1") },
		"shifted fields": func() (string, bool) { return f.id(now, token, "ada", "delivery ", "retryd1") },
		"another key": func() (string, bool) {
			return forms{key: []byte("other")}.id(now, token, "ada", "delivery retry", "d1")
		},
		"no token":        func() (string, bool) { return f.id(now, "", "ada", "delivery retry", "d1") },
		"another version": func() (string, bool) { return f.id(now, "x"+token, "ada", "delivery retry", "d1") },
	} {
		_, ok := try()
		require.False(t, ok, name)
	}
	require.NotEqual(t, token, f.issue(now, "ada", "delivery retry", "d1"), "each form has its id")
}
