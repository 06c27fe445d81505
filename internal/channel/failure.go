package channel

import (
	"context"
	"errors"
	"net"
	"time"

	"herald/internal/notification"
)

// Codes of failures without a provider's code.
const (
	CodeTimeout      = "timeout"           // the deadline passed; the message may have been sent
	CodeCancelled    = "cancelled"         // the context was cancelled; the message may have been sent
	CodeNoConnection = "no connection"     // the provider was unreachable
	CodeLost         = "connection lost"   // before the answer was complete
	CodeUnexpected   = "unexpected answer" // 2xx, but without the provider's success body
	CodeInvalid      = "invalid request"   // the SDK refused to send it
)

// Failure returns the failure, or nil for a complete 2xx answer; the sender decides whether that
// is a success. If there was an answer, its status decides. ctx is the request's context.
func (e *Exchange) Failure(ctx context.Context, provider string) *notification.ProviderError {
	switch {
	case e.Status >= 200 && e.Status < 300 && e.err == nil:
		return nil
	case e.Status >= 300:
		wait := RetryAfter(e.Header.Get("Retry-After"), time.Now())
		return &notification.ProviderError{Provider: provider, Class: notification.ClassOf(e.Status, wait), Status: e.Status, RetryAfter: wait}
	case !e.started && ctx.Err() == nil:
		return Refuse(provider, CodeInvalid)
	default:
		failure := e.ambiguous(provider, interruption(ctx, e.err))
		if !e.connected {
			failure.Class = notification.Unreachable
		}
		return failure
	}
}

// Interrupted returns the failure of a message whose context ended first, or whose connection
// failed with err.
func Interrupted(ctx context.Context, provider string, err error) *notification.ProviderError {
	return &notification.ProviderError{Provider: provider, Class: notification.Ambiguous, Code: interruption(ctx, err)}
}

// Unexpected returns the failure for a 2xx answer without the provider's success body: it is
// empty, or from a proxy. The message may have been sent.
func (e *Exchange) Unexpected(provider string) *notification.ProviderError {
	return e.ambiguous(provider, CodeUnexpected)
}

func (e *Exchange) ambiguous(provider, code string) *notification.ProviderError {
	return &notification.ProviderError{Provider: provider, Class: notification.Ambiguous, Status: e.Status, Code: code}
}

// Refuse returns the failure of a message that the sender does not send, because the provider
// would never accept it.
func Refuse(provider, code string) *notification.ProviderError {
	return &notification.ProviderError{Provider: provider, Class: notification.Refused, Code: code, Unasked: true}
}

// interruption names the reason for an interrupted exchange. It drops the error itself, whose
// text may contain a URL.
func interruption(ctx context.Context, err error) string {
	var dial *net.OpError
	var timeout net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return CodeCancelled
	case ctx.Err() != nil:
		return CodeTimeout
	case errors.As(err, &dial) && dial.Op == "dial":
		return CodeNoConnection
	case errors.As(err, &timeout) && timeout.Timeout():
		return CodeTimeout
	case errors.Is(err, errBodyTooLarge):
		return CodeUnexpected
	default:
		return CodeLost
	}
}
