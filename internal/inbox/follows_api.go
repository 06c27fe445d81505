package inbox

import (
	"cmp"
	"context"
	"net/http"

	"herald/internal/notification"
	"herald/internal/web/problem"
)

// entityParameters are the parameters of a query that name an entity. An id may have any characters, so it
// is not in the path.
var entityParameters = []string{"entity_type", "entity_id"}

func (a *API) listFollows(w http.ResponseWriter, r *http.Request) error {
	follows, err := a.Preferences.Follows(r.Context(), who(r.Context()))
	if err != nil {
		return err
	}
	types, err := a.Preferences.FollowableTypes(r.Context(), who(r.Context()))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]any{"follows": follows, "entity_types": types})
}

func (a *API) follow(w http.ResponseWriter, r *http.Request) error {
	var wanted struct {
		EntityType string                   `json:"entity_type"`
		EntityID   string                   `json:"entity_id"`
		Level      notification.FollowLevel `json:"level"`
	}
	if err := decode(r, &wanted); err != nil {
		return err
	}
	level := cmp.Or(wanted.Level, notification.FollowAll)
	if level != notification.FollowAll && level != notification.FollowImportant {
		return unchanged(w, "level must be ALL or IMPORTANT")
	}
	entity := notification.Entity{Type: wanted.EntityType, ID: wanted.EntityID}
	if err := a.Preferences.Follow(r.Context(), who(r.Context()), entity, level); err != nil {
		return err
	}
	return done(w)
}

func (a *API) listMutes(w http.ResponseWriter, r *http.Request) error {
	mutes, err := a.Preferences.Mutes(r.Context(), who(r.Context()))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]any{"mutes": mutes})
}

func (a *API) mute(w http.ResponseWriter, r *http.Request) error {
	var wanted struct {
		EntityType string `json:"entity_type"`
		EntityID   string `json:"entity_id"`
	}
	if err := decode(r, &wanted); err != nil {
		return err
	}
	entity := notification.Entity{Type: wanted.EntityType, ID: wanted.EntityID}
	if err := a.Preferences.Mute(r.Context(), who(r.Context()), entity); err != nil {
		return err
	}
	return done(w)
}

// removing returns the answer that unfollows or unmutes the entity in the query.
func removing(
	remove func(context.Context, notification.RecipientKey, notification.Entity) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		entity, err := entityIn(r)
		if err != nil {
			return err
		}
		if err := remove(r.Context(), who(r.Context()), entity); err != nil {
			return err
		}
		return done(w)
	}
}

// entityIn returns the entity in the query of a request.
func entityIn(r *http.Request) (notification.Entity, error) {
	query := r.URL.Query()
	for _, name := range entityParameters {
		if !query.Has(name) {
			return notification.Entity{}, problem.BadRequest(name + " is missing in the query")
		}
	}
	return notification.Entity{Type: query.Get("entity_type"), ID: query.Get("entity_id")}, nil
}
