package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/scale.md has the tables as they are printed.
func TestScaleDocument(t *testing.T) {
	t.Parallel()

	page, err := os.ReadFile("../../docs/scale.md")
	require.NoError(t, err)
	for _, print := range []func(*strings.Builder){
		func(w *strings.Builder) { costs(w) },
		func(w *strings.Builder) { table(w, 10, 100, 1000) },
	} {
		var printed strings.Builder
		print(&printed)
		require.Contains(t, string(page), printed.String())
	}
}

// An event costs its deliveries, too, and nobody has a half of anything.
func TestRounding(t *testing.T) {
	t.Parallel()

	event := ofEvent.plus(ofDelivery, deliveriesOfEvent)
	require.InDelta(t, ofEvent.temporal+6*ofDelivery.temporal, event.temporal, 1e-9)
	for name, of := range map[string]func(float64) string{"whole": whole, "power": power} {
		require.Equal(t, "4", of(3.1), name)
	}
	require.Equal(t, "8", power(4.1))
}
