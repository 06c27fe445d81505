package signin

import (
	"net/http"
	"slices"

	"github.com/golang-jwt/jwt/v5"
)

// Producer is a program that may write events.
type Producer struct {
	Name   string // `sub` of its token
	events []string
}

// everyEvent in the claim `events` names all event types.
const everyEvent = "*"

// MayWrite reports whether the producer's token names an event type.
func (p Producer) MayWrite(eventType string) bool {
	return slices.Contains(p.events, everyEvent) || slices.Contains(p.events, eventType)
}

// EventTypes returns the event types that the producer's token names; nil: all.
func (p Producer) EventTypes() []string {
	if slices.Contains(p.events, everyEvent) {
		return nil
	}
	return p.events
}

// producerClaims holds the claims of a producer's token.
type producerClaims struct {
	jwt.RegisteredClaims

	Events []string `json:"events"` // the event types that it may write
}

// For returns a verifier of tokens for another audience, which has the same keys.
func (v *Verifier) For(audience string, settings Settings) *Verifier {
	settings.Audience = audience
	other := *v
	other.parser = newParser(settings, v.methods)
	return &other
}

// Producer returns the sender of a request by the token in its header, or a [*Refusal].
func (v *Verifier) Producer(r *http.Request) (Producer, error) {
	token := bearer(r)
	if token == "" {
		return Producer{}, &Refusal{NoToken}
	}
	var said producerClaims
	if parsed, err := v.parser.ParseWithClaims(token, &said, v.key); err != nil {
		return Producer{}, &Refusal{v.reason(parsed, err)}
	}
	if said.Subject == "" || len(said.Events) == 0 {
		return Producer{}, &Refusal{Malformed}
	}
	return Producer{said.Subject, said.Events}, nil
}
