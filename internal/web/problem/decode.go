package problem

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Refusal is the error of an invalid request.
type Refusal struct {
	Status int
	Detail string // for the client; without values of the request
}

func (e *Refusal) Error() string { return e.Detail }

// BadRequest returns a refusal with the status 400.
func BadRequest(detail string) error { return &Refusal{http.StatusBadRequest, detail} }

// ReadJSON reads a body that must be application/json. If the body is larger than its limit, the error
// is a [*http.MaxBytesError].
func ReadJSON(r *http.Request) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &Refusal{http.StatusUnsupportedMediaType, "the body must be application/json"}
	}
	return ReadBody(r)
}

// ReadBody reads a body of any type, as [ReadJSON] does.
func ReadBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, BodyError(err)
	}
	return body, nil
}

// Decode decodes a body of one JSON value. It refuses unknown members.
func Decode(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return BodyError(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return BodyError(errors.Join(err, errors.New("there is more after the JSON value")))
	}
	return nil
}

// BodyError returns the error for a body that cannot be read or decoded.
func BodyError(err error) error {
	var (
		tooLarge *http.MaxBytesError
		mistyped *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &tooLarge):
		return err
	case errors.As(err, &mistyped):
		return BadRequest(fmt.Sprintf("the body does not match openapi.json: %s cannot be a JSON %s", cmp.Or(mistyped.Field, "it"),
			mistyped.Value))
	case strings.HasPrefix(err.Error(), "json: unknown field"):
		return BadRequest("the body does not match openapi.json: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return BadRequest("the body is not JSON, or it is incomplete")
}
