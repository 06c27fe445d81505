package inbox

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"herald/internal/notification"
	"herald/internal/web/problem"
)

// Devices registers and removes recipients' devices. See the errors of package notification.
type Devices interface {
	RegisterDevice(ctx context.Context, who notification.RecipientKey, token string) (id string, err error)
	RemoveDevice(ctx context.Context, who notification.RecipientKey, id string) error
}

const (
	fcmKind    = "fcm" // a registration token of Firebase Cloud Messaging
	tokenLimit = 1024  // bytes
)

// registerDevice gives a device to the signed-in recipient, who may have it already.
func (a *API) registerDevice(w http.ResponseWriter, r *http.Request) error {
	var device struct {
		Token string `json:"token"`
		Kind  string `json:"kind"`
	}
	if err := decode(r, &device); err != nil {
		return err
	}
	switch visible := func(c rune) bool { return c > ' ' && c <= '~' }; {
	case device.Kind != fcmKind:
		return unchanged(w, "kind must be fcm")
	case device.Token == "" || len(device.Token) > tokenLimit || strings.TrimLeftFunc(device.Token, visible) != "":
		return unchanged(w, "token must be the registration token of the device: up to 1,024 visible ASCII characters")
	}
	id, err := a.Devices.RegisterDevice(r.Context(), who(r.Context()), device.Token)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]string{"id": id})
}

// unchanged answers that the request changed nothing, because something is wrong.
func unchanged(w http.ResponseWriter, wrong string) error {
	problem.Write(w, http.StatusUnprocessableEntity, "nothing was changed", wrong)
	return nil
}

func (a *API) removeDevice(w http.ResponseWriter, r *http.Request) error {
	err := a.Devices.RemoveDevice(r.Context(), who(r.Context()), r.PathValue("id"))
	if errors.Is(err, notification.ErrForeignDevices) {
		err = notification.ErrNoDevice
	}
	if err != nil {
		return err
	}
	return done(w)
}
