package channel

import (
	"context"
	"errors"
	"net"
	"time"

	"herald/internal/notification"
)

// Codes of failures that have no code of a provider.
const (
	CodeTimeout      = "timeout"           // the deadline passed; the message may have been sent
	CodeCancelled    = "cancelled"         // the context was cancelled; the message may have been sent
	CodeNoConnection = "no connection"     // the provider could not be reached
	CodeLost         = "connection lost"   // before there was a whole answer
	CodeUnexpected   = "unexpected answer" // 2xx, but not what the provider says on success
	CodeInvalid      = "invalid request"   // the SDK refused to send it
)

// Failure returns what went wrong, or nil for a complete 2xx answer; only the
// sender knows whether that is a success. If there was an answer, its status
// decides. ctx is the context of the request.
func (e *Exchange) Failure(ctx context.Context, provider string) *notification.ProviderError {
	switch {
	case e.Status >= 200 && e.Status < 300 && e.err == nil:
		return nil
	case e.Status >= 300:
		return &notification.ProviderError{
			Provider:   provider,
			Class:      notification.ClassOf(e.Status),
			Status:     e.Status,
			RetryAfter: RetryAfter(e.Header.Get("Retry-After"), time.Now()),
		}
	case !e.started && ctx.Err() == nil:
		return Refuse(provider, CodeInvalid)
	default:
		return e.ambiguous(provider, interruption(ctx, e.err))
	}
}

// Interrupted is the failure of a message whose context ended first.
func Interrupted(ctx context.Context, provider string) *notification.ProviderError {
	return &notification.ProviderError{Provider: provider, Class: notification.Ambiguous, Code: interruption(ctx, nil)}
}

// Unexpected is the failure of a 2xx answer that does not say what the
// provider says on success: it is empty, or from a proxy. The message may have
// been sent.
func (e *Exchange) Unexpected(provider string) *notification.ProviderError {
	return e.ambiguous(provider, CodeUnexpected)
}

func (e *Exchange) ambiguous(provider, code string) *notification.ProviderError {
	return &notification.ProviderError{Provider: provider, Class: notification.Ambiguous, Status: e.Status, Code: code}
}

// Refuse is the failure of a message that the sender does not send, because the
// provider would never accept it.
func Refuse(provider, code string) *notification.ProviderError {
	return &notification.ProviderError{Provider: provider, Class: notification.Refused, Code: code, Unasked: true}
}

// interruption names what cut an exchange short. It drops the error itself, whose
// text may hold a URL.
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
