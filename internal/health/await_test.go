package health

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

type wrongSecretError struct{}

func (wrongSecretError) Error() string { return "another secret" }

func (wrongSecretError) Lasting() bool { return true }

// What waiting does not mend ends the wait, and what may pass does not.
func TestAwaitEndsWithWhatLasts(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		tries := []error{errors.New("away"), errors.New("away"), fmt.Errorf("begin: %w", wrongSecretError{}), nil}
		tried := 0
		err := Await(t.Context(), "the database", func(context.Context) error {
			tried++
			return tries[tried-1]
		})
		require.EqualError(t, err, "begin: another secret")
		require.Equal(t, 3, tried)
	})
}
