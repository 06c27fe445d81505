package sms_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/channel/sms"
)

func TestSegments(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		character string
		count     int
		want      int
	}{
		{"a", 1, 1}, {"a", 160, 1}, {"a", 161, 2}, {"a", 306, 2}, {"a", 307, 3}, {"a", 1600, 11},
		{"\u20ac", 80, 1}, {"\u20ac", 81, 2}, {"\u20ac", 152, 2}, {"\u20ac", 153, 3}, // 153 places hold 76 pairs
		{"\u0142", 70, 1}, {"\u0142", 71, 2}, {"\u0142", 134, 2}, {"\u0142", 135, 3},
		{"\U0001f600", 35, 1}, {"\U0001f600", 36, 2}, {"\U0001f600", 66, 2}, {"\U0001f600", 67, 3},
		{"\xff", 70, 1}, {"\xff", 71, 2},
	} {
		require.Equal(t, tt.want, sms.Segments(strings.Repeat(tt.character, tt.count)), "%d of %q", tt.count, tt.character)
	}
	require.True(t, sms.IsGSM("Ca\u00f1on [5 \u20ac] \u00e0 \u03a9"))
	require.False(t, sms.IsGSM("\u00e7a va"))
}
