package link

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// Each language has all texts and channels, and each text takes as many names as the English one.
func TestTextsAreComplete(t *testing.T) {
	t.Parallel()

	for _, of := range languages {
		fields := reflect.ValueOf(*of)
		for i := range fields.NumField() {
			name, value := fields.Type().Field(i).Name, fields.Field(i)
			require.False(t, value.IsZero(), "%s: %s", of.Lang, name)
			if value.Kind() == reflect.String {
				require.Equal(t, strings.Count(reflect.ValueOf(english).Field(i).String(), "%s"), strings.Count(value.String(), "%s"), "%s: %s",
					of.Lang, name)
			}
		}
		for _, channel := range notification.Channels() {
			require.NotEmpty(t, of.Channels[channel], "%s: %s", of.Lang, channel)
		}
	}
}

// The recipient's language counts, then the browser's, then English.
func TestLanguages(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ locale, browser, want string }{
		{"it", "de", "it"}, {"it-CH", "", "it"}, {"de_AT", "", "de"}, {"fr-CA", "", "fr"}, {"es-419", "", "es"}, {"en-GB", "de", "en"},
		{"ja", "fr;q=0.8, en;q=0.5", "fr"}, {"", "de-CH, en;q=0.5", "de"}, {"ja", "zh", "en"}, {"", "", "en"}, {"!", "\x00", "en"},
	} {
		require.Equal(t, tt.want, textsFor(tt.locale, tt.browser).Lang, tt)
	}
}
