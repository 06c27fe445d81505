package inbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// checkQuery refuses a query with unknown or repeated parameters.
func checkQuery(r *http.Request, known []string) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badRequest("the query cannot be read: encode it")
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			return badRequest("a parameter of the query is unknown: " + takes(known))
		}
		if len(given) > 1 {
			return badRequest(name + " is given more than once")
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
		return 0, badRequest(name + " must be the notification_id of a notification")
	}
	return id, nil
}

// withoutBody refuses a request that has a body.
func withoutBody(r *http.Request) error {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return bodyError(err)
	}
	if n > 0 {
		return badRequest("this path takes no body")
	}
	return nil
}

// decode decodes a body of one JSON value. It refuses unknown members and null.
func decode(r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &refusal{http.StatusUnsupportedMediaType, "the body must be application/json"}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return bodyError(err)
	}
	if holdsNull(body) {
		return badRequest("the body is not as openapi.json says: leave a member out rather than set it to null")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return bodyError(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return bodyError(errors.Join(err, errors.New("there is more after the JSON value")))
	}
	return nil
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

// bodyError returns the error for a body that cannot be read or decoded.
func bodyError(err error) error {
	var (
		mistyped *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return err
	case errors.As(err, &mistyped):
		return badRequest(fmt.Sprintf("the body is not as openapi.json says: %s cannot be a JSON %s", cmp.Or(mistyped.Field, "it"), mistyped.Value))
	case strings.HasPrefix(err.Error(), "json: unknown field"):
		return badRequest("the body is not as openapi.json says: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return badRequest("the body is not JSON, or not all of it came")
}
