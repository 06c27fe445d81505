package outboxes

import (
	"errors"
	"fmt"
)

// UnavailableError means that no broker judged the record: none can be reached, or the
// partition has no leader.
type UnavailableError struct {
	Err error // holds no address, key or value
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("kafka cannot be reached, or is not ready: %v", e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// ErrKeyHeld means that a record was not produced, since an earlier record of its key, or
// of its flush, was not acknowledged.
var ErrKeyHeld = errors.New("an earlier record was not acknowledged")

// RefusedError means that a broker, or the form of the row itself, refused a record.
type RefusedError struct {
	Topic   string // empty: the row leads to none
	Code    string // the broker's own word, such as MESSAGE_TOO_LARGE
	Verdict Verdict
}

// Verdict says what a refusal means for the next attempt.
type Verdict string

// The verdicts.
const (
	RetryRecord Verdict = "retry" // the refusal counts, and the record is tried again
	FailRecord  Verdict = "fail"  // the same record will never be taken
	RestTopic   Verdict = "rest"  // the topic is at fault: it does not exist, or Herald may not write it
)

func (e *RefusedError) Error() string {
	if e.Topic == "" {
		return "the record was refused: " + e.Code
	}
	return fmt.Sprintf("the topic %q refused the record: %s", e.Topic, e.Code)
}
