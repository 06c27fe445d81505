package receipts_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/receipts"
)

// TestSendGridVectors holds the check of SendGrid's signature to its own library.
func TestSendGridVectors(t *testing.T) {
	t.Parallel()

	vectors := readVectors[struct {
		Name      string
		PublicKey string `json:"public_key"`
		Timestamp string
		Body      string
		Signature string
		Valid     bool
	}](t, "testdata/sendgrid.json")
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, v.Valid, receipts.SignedBySendGrid(publicKey(t, v.PublicKey), v.Signature, v.Timestamp, []byte(v.Body)))
			for _, signature := range []string{"", v.Signature + "x", v.Signature[4:], "AAAA"} {
				require.False(t, receipts.SignedBySendGrid(publicKey(t, v.PublicKey), signature, v.Timestamp, []byte(v.Body)), signature)
			}
		})
	}
}

// TestTwilioVectors holds the check of Twilio's signature to its own library.
func TestTwilioVectors(t *testing.T) {
	t.Parallel()

	vectors := readVectors[struct {
		Name, Token, URL, Body, Signature string
		Valid                             bool
	}](t, "testdata/twilio.json")
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()

			fields, err := url.ParseQuery(v.Body)
			require.NoError(t, err)
			require.Equal(t, v.Valid, receipts.SignedByTwilio(v.Token, v.Signature, v.URL, fields))
			for _, signature := range []string{"", v.Signature + "=", v.Signature[1:]} {
				require.False(t, receipts.SignedByTwilio(v.Token, signature, v.URL, fields), signature)
			}
		})
	}
}

// readVectors reads a file of vectors, of which some must hold and some must not.
func readVectors[V any](t *testing.T, file string) []V {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var vectors []V
	require.NoError(t, json.Unmarshal(content, &vectors))
	require.Greater(t, len(vectors), 10)
	require.Contains(t, string(content), `"valid": true`)
	require.Contains(t, string(content), `"valid": false`)
	return vectors
}

// publicKey reads a key as SendGrid shows it.
func publicKey(t testing.TB, text string) *ecdsa.PublicKey {
	t.Helper()
	der, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	key, err := x509.ParsePKIXPublicKey(der)
	require.NoError(t, err)
	return key.(*ecdsa.PublicKey)
}
