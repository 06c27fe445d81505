package push

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/channel"
	"herald/internal/notification"
)

const (
	// CodeNoDevice is the code of a message that no device can get.
	CodeNoDevice  = "no working device"
	devicesAtOnce = 8 // per message, so that one person does not use all connections
)

// DeviceAnswer is the result of one message to one device.
type DeviceAnswer struct {
	ID      string // the provider's message id; may be empty
	Status  int
	Took    time.Duration
	Failure *notification.ProviderError // nil: accepted
	Dead    bool                        // the device will never accept a message again
}

// SendToEach passes a message to each device, once. It succeeds if one device accepted the message.
// The answer names the dead devices, even with an error. The error is the failure for which a retry
// is most likely to succeed.
func SendToEach(provider string, devices []string, send func(device string) DeviceAnswer) (notification.Answer, error) {
	answers := make([]DeviceAnswer, len(devices))
	var group errgroup.Group
	group.SetLimit(devicesAtOnce)
	for i, device := range devices {
		group.Go(func() error {
			answers[i] = send(device)
			return nil
		})
	}
	_ = group.Wait() // no error: each device has its answer
	return summarize(provider, devices, answers)
}

// byPromise orders the classes of failure by the chance that a retry succeeds.
var byPromise = []notification.FailureClass{
	notification.Busy,
	notification.Unreachable,
	notification.Unavailable,
	notification.Ambiguous,
	notification.Account,
	notification.Refused,
}

func promise(failure *notification.ProviderError) int {
	return slices.Index(byPromise, failure.Class)
}

// summarize combines the devices' answers into one result.
func summarize(provider string, devices []string, answers []DeviceAnswer) (notification.Answer, error) {
	var answer notification.Answer
	var accepted, worth *DeviceAnswer // the first acceptance, and the failure whose retry is most promising
	for i := range answers {
		a := &answers[i]
		answer.Took = max(answer.Took, a.Took)
		switch {
		case a.Failure == nil:
			accepted = cmp.Or(accepted, a)
		case a.Dead:
			answer.DeadDevices = append(answer.DeadDevices, devices[i])
		case worth == nil || promise(a.Failure) < promise(worth.Failure):
			worth = a
		}
	}
	switch {
	case accepted != nil:
		answer.ProviderID, answer.Status = accepted.ID, accepted.Status
		return answer, nil
	case worth != nil:
		answer.Status = worth.Status
		return answer, worth.Failure
	default:
		refused := channel.Refuse(provider, CodeNoDevice)
		refused.Status, refused.Unasked = answers[0].Status, false
		answer.Status = refused.Status
		return answer, refused
	}
}

// CollapseID identifies messages that replace each other on a device: the same 32 characters for
// the same event type and collapse key, or "" if the message replaces none. Push services of browsers
// allow no more than 32.
func CollapseID(msg notification.Message) string {
	if msg.CollapseKey == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(msg.EventType + "\n" + msg.CollapseKey))
	return hex.EncodeToString(sum[:16])
}
