package inbox

import (
	"errors"
	"net/http"
	"strings"

	"herald/internal/notification"
	"herald/internal/web/problem"
)

const tokenLimit = 1024 // bytes; the limit of recipient_device

// registerDevice gives a device to the signed-in recipient, who may have it already.
func (a *API) registerDevice(w http.ResponseWriter, r *http.Request) error {
	var device struct {
		Token string                  `json:"token"`
		Kind  notification.DeviceKind `json:"kind"`
	}
	if err := decode(r, &device); err != nil {
		return err
	}
	token, wrong := a.token(device.Kind, device.Token)
	if wrong != "" {
		return unchanged(w, wrong)
	}
	id, err := a.Store.RegisterDevice(r.Context(), who(r.Context()), token)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]string{"id": id})
}

// token returns a device's token in its stored form, or the reason why it is invalid.
func (a *API) token(kind notification.DeviceKind, token string) (stored, wrong string) {
	switch kind {
	case notification.FCMDevice:
		wrong = "token must be the registration token of the device: up to 1,024 visible ASCII characters"
	case notification.WebPushDevice:
		if !a.WebPush {
			return "", "kind must be fcm: WEBPUSH_VAPID_PUBLIC_KEY is not set"
		}
		subscription, err := notification.ParseSubscription(token)
		if err != nil {
			return "", "token is " + err.Error()
		}
		token, wrong = subscription.Token(), "token must be a subscription of up to 1,024 visible ASCII characters"
	default:
		return "", "kind must be fcm or webpush"
	}
	visible := func(c rune) bool { return c > ' ' && c <= '~' }
	if token == "" || len(token) > tokenLimit || strings.TrimLeftFunc(token, visible) != "" || notification.KindOf(token) != kind {
		return "", wrong
	}
	return token, ""
}

// unchanged answers that the request changed nothing. wrong is the reason.
func unchanged(w http.ResponseWriter, wrong string) error {
	problem.Write(w, http.StatusUnprocessableEntity, "nothing was changed", wrong)
	return nil
}

func (a *API) removeDevice(w http.ResponseWriter, r *http.Request) error {
	err := a.Store.RemoveDevice(r.Context(), who(r.Context()), r.PathValue("id"))
	if errors.Is(err, notification.ErrForeignDevices) {
		err = notification.ErrNoDevice
	}
	if err != nil {
		return err
	}
	return done(w)
}
