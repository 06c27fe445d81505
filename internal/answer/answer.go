// Package answer gives programs what the commands of starter know, as typed results: ids, codes,
// counts, times and Herald's own sentences. Each result copies the fields that it names, so that a
// name, an address, a text, a payload or somebody else's words cannot get into it.
package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"herald/internal/advice"
	"herald/internal/check"
	"herald/internal/explain"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/relay"
)

// Reader reads the answers. It is safe for concurrent use.
type Reader struct {
	Explain  explain.Explainer
	Sources  []relay.Source
	Pollers  func(context.Context) (operate.Pollers, error)
	CheckAll func(ctx context.Context) check.Result
}

// The limits of lists. A request for 0 gets the usual limit.
const (
	usual = 50
	most  = 200
	// mostLog limits the attempts, receipts and retries of a delivery. Package report reads no more.
	mostLog = 50
	// mostPeople limits the people of one simulation.
	mostPeople = 20
	// sourceTimeout bounds the wait for the database of one other service.
	sourceTimeout = 5 * time.Second
	// pollerTimeout bounds the wait for Temporal. Together, both waits are shorter than a tool's call.
	pollerTimeout = 3 * time.Second
	// mostDays limits the period of a status.
	mostDays = 31
)

func (r Reader) lists() list.Reader { return list.Reader{Pool: r.Explain.DB.Pool} }

// limited returns the number of rows to show, of at most `bound` rows.
func limited(asked, bound int) (int, error) {
	if asked < 0 || asked > bound {
		return 0, wrong("%d is no limit", fmt.Sprintf("give a limit from 1 to %d, or none", bound), asked)
	}
	if asked == 0 {
		return usual, nil
	}
	return asked, nil
}

// wrong is the error of a request with a mistake.
func wrong(format, next string, args ...any) error {
	return advice.With(fmt.Errorf(format, args...), next)
}

// recipientOf reads a name such as CUSTOMER/7.
func recipientOf(text string) (notification.RecipientKey, error) {
	userType, id, found := strings.Cut(strings.TrimSpace(text), "/")
	if !found || userType == "" || id == "" {
		return notification.RecipientKey{}, wrong("this is no recipient", "write the type and the id, such as CUSTOMER/7")
	}
	return notification.RecipientKey{UserType: notification.UserType(userType), UserID: id}, nil
}

// channelOf reads a channel; empty: none.
func channelOf(text string) (notification.Channel, error) {
	channel := notification.Channel(strings.ToUpper(text))
	if text != "" && !channel.Valid() {
		return "", wrong("this is no channel", "use one of "+channelNames())
	}
	return channel, nil
}

func channelNames() string {
	var names []string
	for _, channel := range notification.Channels() {
		names = append(names, string(channel))
	}
	return strings.Join(names, ", ")
}

// Problem returns the sentence of an error that its asker may see, with the next step. ok is false
// for an error of a server: only a log may have it.
func Problem(err error) (text string, ok bool) {
	var advised *advice.Error
	var unknownType *notification.UnknownUserTypeError
	switch {
	case errors.As(err, &advised):
		return fmt.Sprintf("%s; next: %s", advised.Error(), advised.Next), true
	case errors.As(err, &unknownType):
		return err.Error() + "; next: name a type of user_type", true
	case errors.Is(err, notification.ErrNoEvent), errors.Is(err, notification.ErrNoDelivery):
		return err.Error() + "; next: check the id", true
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long; next: ask for less, or see `starter status` and ask again", false
	default:
		return "the database or Temporal does not answer; next: ask again; `starter status` shows more", false
	}
}
