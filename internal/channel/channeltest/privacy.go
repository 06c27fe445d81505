package channeltest

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// RequireFailure returns the provider's failure in err. It fails the test for any other error. It
// also fails if a printed form of err shows a secret or personal data.
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

// personal returns the parts of msg that no error may show.
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
