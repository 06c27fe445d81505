package rabbitmq

import (
	"context"
	"errors"
	"time"

	"herald/internal/notification"
)

// The causes of a failed publication.
const (
	codeTimeout      = "timeout"
	codeCancelled    = "cancelled"
	codeNotConnected = "not connected"
	codeLost         = "connection lost"
	codeBlocked      = "blocked"
	codeNegative     = "negative confirmation"
	codeUnroutable   = "unroutable"
	codeNoExchange   = "no exchange"
	codeNoAccess     = "access refused"
	codeNoAudience   = "unknown audience"
	codeTooLong      = "property over 255 bytes"
	codeNotJSON      = "payload is not JSON"
)

// retryAfter leaves a broker that cannot take messages the time to recover.
const retryAfter = 5 * time.Second

// busy is a failure after which the message is certainly in no queue.
func busy(code string) *notification.ProviderError {
	return &notification.ProviderError{Provider: "rabbitmq", Class: notification.Busy, Code: code, RetryAfter: retryAfter}
}

// ambiguous is a failure after which the message may be in its queue.
func ambiguous(code string) *notification.ProviderError {
	return &notification.ProviderError{Provider: "rabbitmq", Class: notification.Ambiguous, Code: code}
}

// refused is a failure that another attempt would only repeat.
func refused(code string) *notification.ProviderError {
	return &notification.ProviderError{Provider: "rabbitmq", Class: notification.Refused, Code: code}
}

// interrupted is the failure of a call whose context ended.
func interrupted(ctx context.Context) *notification.ProviderError {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ambiguous(codeTimeout)
	}
	return ambiguous(codeCancelled)
}
