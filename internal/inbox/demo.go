package inbox

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"herald/internal/notification"
	"herald/internal/web/problem"
	"herald/internal/web/signin"
)

// demoSession is the lifetime of a demo token.
const demoSession = time.Hour

// People returns the people in the directory.
type People interface {
	People(ctx context.Context) ([]notification.Person, error)
}

// Demo lets people choose in the page who they are; no application signs them in. It is only for
// the example's people on a developer's machine.
type Demo struct {
	People   People
	Settings signin.Settings // HS256Secret must be set: it signs the tokens
}

// Handler serves the paths under /demo/.
func (d *Demo) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/demo/people", methods{http.MethodGet: {answer: d.list}})
	mux.Handle("/demo/token", methods{http.MethodPost: {answer: d.become, body: true}})
	return mux
}

func (d *Demo) list(w http.ResponseWriter, r *http.Request) error {
	people, err := d.People.People(r.Context())
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, append([]notification.Person{}, people...))
}

// become answers with a token for the chosen person.
func (d *Demo) become(w http.ResponseWriter, r *http.Request) error {
	var chosen notification.Person
	if err := decode(r, &chosen); err != nil {
		return err
	}
	people, err := d.People.People(r.Context())
	if err != nil {
		return err
	}
	found := slices.IndexFunc(people, func(p notification.Person) bool { return p.UserType == chosen.UserType && p.UserID == chosen.UserID })
	if found < 0 {
		return &problem.Refusal{Status: http.StatusNotFound, Detail: "there is nobody of that type and id"}
	}
	token, err := d.sign(people[found])
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, map[string]string{"token": token})
}

func (d *Demo) sign(person notification.Person) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss":       d.Settings.Issuer,
		"aud":       d.Settings.Audience,
		"sub":       person.UserID,
		"name":      person.Name,
		"user_type": person.UserType,
		"exp":       time.Now().Add(demoSession).Unix(),
	}).SignedString([]byte(d.Settings.HS256Secret))
}
