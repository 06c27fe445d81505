package inbox

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"herald/internal/web/problem"
)

// checkQuery refuses a query with unknown or repeated parameters.
func checkQuery(r *http.Request, known []string) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problem.BadRequest("the query cannot be read: encode it")
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			return problem.BadRequest("a parameter of the query is unknown: " + takes(known))
		}
		if len(given) > 1 {
			return problem.BadRequest(name + " is given more than once")
		}
	}
	return nil
}

func takes(known []string) string {
	if len(known) == 0 {
		return "this path takes none"
	}
	return "this path takes " + strings.Join(known, ", ")
}

// idParameter returns the notification id in a query parameter; 0 if the parameter is missing.
func idParameter(values url.Values, name string) (int64, error) {
	if !values.Has(name) {
		return 0, nil
	}
	id, err := strconv.ParseInt(values.Get(name), 10, 64)
	if err != nil || id < 1 {
		return 0, problem.BadRequest(name + " must be the notification_id of a notification")
	}
	return id, nil
}

// withoutBody refuses a request that has a body.
func withoutBody(r *http.Request) error {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return problem.BodyError(err)
	}
	if n > 0 {
		return problem.BadRequest("this path takes no body")
	}
	return nil
}

// decode decodes a body of one JSON value. It refuses unknown members and null.
func decode(r *http.Request, into any) error {
	body, err := problem.ReadJSON(r)
	if err != nil {
		return err
	}
	if holdsNull(body) {
		return problem.BadRequest("the body does not match openapi.json: leave a member out instead of setting it to null")
	}
	return problem.Decode(body, into)
}

// holdsNull reports whether a JSON null is anywhere in the body. encoding/json ignores it.
func holdsNull(body []byte) bool {
	for decoder := json.NewDecoder(bytes.NewReader(body)); ; {
		switch token, err := decoder.Token(); {
		case err != nil:
			return false
		case token == nil:
			return true
		}
	}
}
