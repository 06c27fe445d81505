package channeltest

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// RequireFailure returns the provider's failure in err. It fails the test if err
// is anything else, or shows something secret or personal in any of the forms in
// which it could be logged.
func RequireFailure(t *testing.T, err error, msg notification.Message, secrets []string) *notification.ProviderError {
	t.Helper()
	require.Error(t, err)
	var failure *notification.ProviderError
	require.ErrorAs(t, err, &failure)
	require.NotEmpty(t, failure.Provider)
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		for _, text := range []string{inner.Error(), fmt.Sprintf("%+v", inner), fmt.Sprintf("%#v", inner)} {
			for _, secret := range append(personal(msg), secrets...) {
				require.NotContains(t, text, secret)
			}
		}
	}
	return failure
}

// personal is what no error may show of msg.
func personal(msg notification.Message) []string {
	secrets := append([]string{msg.Name, msg.Title, msg.Body}, msg.Devices...)
	if msg.To == "" {
		return secrets
	}
	secrets = append(secrets, msg.To, url.QueryEscape(msg.To))
	if webhook, err := url.Parse(msg.To); err == nil && webhook.Host != "" {
		secrets = append(secrets, webhook.Host, webhook.Path)
	}
	return secrets
}
