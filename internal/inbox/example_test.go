package inbox_test

import (
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// inboxToken returns a token for a user that the backend has signed in.
func inboxToken(secret, userType, userID, name string) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss":       "https://app.example.com", // AUTH_ISSUER
		"aud":       "herald",                  // AUTH_AUDIENCE
		"user_type": userType,                  // recipient.user_type
		"sub":       userID,                    // recipient.user_id
		"name":      name,                      // shown on the page; optional
		"exp":       time.Now().Add(15 * time.Minute).Unix(),
	}).SignedString([]byte(secret)) // AUTH_HS256_SECRET
}
