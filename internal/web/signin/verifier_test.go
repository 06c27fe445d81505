package signin_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/web/signin"
)

const (
	hmacSecret = "the secret of the tests, 32 bytes"
	issuer     = "https://issuer.example.com"
	audience   = "herald"
)

var anna = notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "10"}

// said returns the claims of a valid token, with changes. A nil value removes the claim.
func said(changes map[string]any) jwt.MapClaims {
	claims := jwt.MapClaims{
		"iss": issuer, "aud": audience, "sub": anna.UserID, "user_type": string(anna.UserType), "exp": time.Now().Add(time.Hour).Unix(),
	}
	for name, value := range changes {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	return claims
}

// signed returns a token; header has additional fields of the token's header.
func signed(t testing.TB, method jwt.SigningMethod, key any, claims jwt.MapClaims, header map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	for name, value := range header {
		token.Header[name] = value
	}
	text, err := token.SignedString(key)
	require.NoError(t, err)
	return text
}

func byHS256(t testing.TB, changes map[string]any) string {
	return signed(t, jwt.SigningMethodHS256, []byte(hmacSecret), said(changes), nil)
}

func hs256() *signin.Verifier {
	return signin.NewVerifier(signin.Settings{Issuer: issuer, Audience: audience, HS256Secret: hmacSecret})
}

// While operators replace the secret, tokens of both secrets are valid.
func TestVerifyWithThePreviousSecret(t *testing.T) {
	t.Parallel()

	const next = "the next secret of the tests, 32 bytes"
	token := byHS256(t, nil)
	settings := signin.Settings{Issuer: issuer, Audience: audience, HS256Secret: next, HS256Previous: hmacSecret}
	for _, secret := range []string{next, hmacSecret} {
		_, err := signin.NewVerifier(settings).Verify(signed(t, jwt.SigningMethodHS256, []byte(secret), said(nil), nil))
		require.NoError(t, err)
	}
	settings.HS256Previous = ""
	_, err := signin.NewVerifier(settings).Verify(token)
	require.Equal(t, signin.BadSignature, refusalOf(t, err).Reason)
}

func TestVerify(t *testing.T) {
	t.Parallel()

	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	for name, changes := range map[string]map[string]any{
		"plain":                        {},
		"several audiences":            {"aud": []string{"other", audience}},
		"not valid yet, within leeway": {"exp": expires.Unix(), "nbf": time.Now().Add(5 * time.Second).Unix()},
		"more claims":                  {"name": "Anna", "roles": []string{"MANAGER"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			changes["exp"] = expires.Unix()
			who, err := hs256().Verify(byHS256(t, changes))

			require.NoError(t, err)
			require.Equal(t, anna, who.RecipientKey)
			require.True(t, expires.Equal(who.Expires))
		})
	}
}

// The expiry of a token far in the future is reduced to a time that the database can store.
func TestVerifyOfAFarExpiry(t *testing.T) {
	t.Parallel()

	who, err := hs256().Verify(byHS256(t, map[string]any{"exp": int64(1) << 50}))

	require.NoError(t, err)
	require.Less(t, time.Until(who.Expires), 367*24*time.Hour)
}

func TestRefusedTokens(t *testing.T) {
	t.Parallel()

	hour := time.Hour
	with := func(name string, value any) string { return byHS256(t, map[string]any{name: value}) }
	unsigned := signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, said(nil), nil)
	good := byHS256(t, nil)
	parts := strings.Split(good, ".")
	tests := []struct {
		name, token string
		want        signin.Reason
	}{
		{name: "no token at all", token: "x", want: signin.Malformed},
		{name: "four parts", token: good + ".x", want: signin.Malformed},
		{name: "no JSON", token: "e30.e30.e30", want: signin.Malformed},
		{name: "algorithm none", token: unsigned, want: signin.BadAlgorithm},
		{name: "algorithm None", token: encode(`{"alg":"None"}`) + "." + parts[1] + ".", want: signin.Malformed},
		{name: "no algorithm", token: encode(`{}`) + "." + parts[1] + "." + parts[2], want: signin.Malformed},
		{name: "no signature", token: parts[0] + "." + parts[1] + ".", want: signin.BadSignature},
		{name: "claims of another token", token: parts[0] + "." + strings.Split(with("sub", "11"), ".")[1] + "." + parts[2],
			want: signin.BadSignature},
		{name: "another HMAC", token: signed(t, jwt.SigningMethodHS512, []byte(hmacSecret), said(nil), nil), want: signin.BadAlgorithm},
		{name: "another secret", token: signed(t, jwt.SigningMethodHS256, []byte("another secret of 32 bytes, as well"), said(nil), nil),
			want: signin.BadSignature},
		{name: "a header that must be understood",
			token: signed(t, jwt.SigningMethodHS256, []byte(hmacSecret), said(nil), map[string]any{"crit": []string{"b64"}, "b64": false}),
			want:  signin.Malformed},
		{name: "expired", token: with("exp", time.Now().Add(-hour).Unix()), want: signin.Expired},
		{name: "no expiry", token: with("exp", nil), want: signin.Malformed},
		{name: "an expiry that is a text", token: with("exp", "tomorrow"), want: signin.Malformed},
		{name: "not yet", token: with("nbf", time.Now().Add(hour).Unix()), want: signin.NotYet},
		{name: "another issuer", token: with("iss", issuer+"/"), want: signin.BadIssuer},
		{name: "no issuer", token: with("iss", nil), want: signin.Malformed},
		{name: "another audience", token: with("aud", "other"), want: signin.BadAudience},
		{name: "no audience", token: with("aud", nil), want: signin.Malformed},
		{name: "audiences of others", token: with("aud", []string{"other", "another"}), want: signin.BadAudience},
		{name: "no user type", token: with("user_type", nil), want: signin.Malformed},
		{name: "a user type of another form", token: with("user_type", "customer"), want: signin.Malformed},
		{name: "a user type that is no text", token: with("user_type", []string{"CUSTOMER"}), want: signin.Malformed},
		{name: "no user id", token: with("sub", nil), want: signin.Malformed},
		{name: "an empty user id", token: with("sub", ""), want: signin.Malformed},
		{name: "a user id that is a number", token: with("sub", 10), want: signin.Malformed},
		{name: "a user id that is too long", token: with("sub", strings.Repeat("1", 65)), want: signin.Malformed},
		{name: "a user id with a control character", token: with("sub", "10\x00"), want: signin.Malformed},
		{name: "a key instead of the secret", token: byRS256(t, rsaKey(t, 2048), "k"), want: signin.BadAlgorithm},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			who, err := hs256().Verify(tt.token)

			require.Equal(t, &signin.Refusal{Reason: tt.want}, refusalOf(t, err))
			require.Zero(t, who)
			require.NotContains(t, err.Error(), tt.token)
		})
	}
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func refusalOf(t testing.TB, err error) *signin.Refusal {
	t.Helper()
	refusal, ok := errors.AsType[*signin.Refusal](err)
	require.True(t, ok, "%v", err)
	return refusal
}
