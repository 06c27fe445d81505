package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
	"herald/internal/environment"
)

func TestVerifiesDatabase(t *testing.T) {
	t.Parallel()

	for url, want := range map[environment.Secret]bool{
		"postgres://herald@localhost/herald":                     true,
		"postgres://herald@db/herald?sslmode=verify-full":        true,
		"postgres://herald@db/herald?sslmode=require":            false,
		"postgres://herald@db/herald?sslmode=disable":            false,
		"postgres://herald@/herald?host=/var/run/postgresql":     true,
		"postgres://herald@10.0.0.7/herald?sslmode=prefer":       false,
		"postgres://herald@127.0.0.1:5432/herald?sslmode=prefer": true,
	} {
		require.Equal(t, want, config.VerifiesDatabase(url), string(url))
	}
}
