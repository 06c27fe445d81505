package inbox

import (
	"net/http"

	"herald/internal/notification"
)

func (a *API) showPreferences(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	preferences, err := a.Preferences.Preferences(r.Context(), who(r.Context()))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, preferences)
}

func (a *API) changePreferences(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	var preferences notification.Preferences
	if err := decode(r, &preferences); err != nil {
		return err
	}
	if err := a.Preferences.SetPreferences(r.Context(), who(r.Context()), preferences); err != nil {
		return err
	}
	return done(w)
}
