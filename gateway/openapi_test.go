package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"herald/internal/signin"
)

// TestOpenAPI holds the server to the document that it serves: each answer of every path,
// with every status that the document names, and with no other.
func TestOpenAPI(t *testing.T) {
	t.Parallel()

	openapi3filter.RegisterBodyDecoder("text/xml", openapi3filter.PlainBodyDecoder)
	g, away, busy := newContracted(t), newContracted(t), newContractedWith(t, signin.Share{})
	away.store.Close()
	contract := readContract(t, g)
	mine, others := g.notify("10", 3), g.notify("11", 1)
	signedIn := token(t, "10")
	t.Run("answers", func(t *testing.T) {
		for _, tt := range contractCases(mine, others[0]) {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()

				tt.request.token = signedIn
				contract.check(t, g, tt.request, tt.want)
			})
		}
		for _, tt := range slices.Concat(webhookCases(), unsubscribeCases(), sessionCases(g.code(t, signedIn))) {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()

				contract.check(t, g, tt.request, tt.want)
				if tt.want < 300 {
					contract.check(t, away, tt.request, 503)
				}
				if tt.want < 300 && strings.HasPrefix(tt.request.path, "/unsubscribe") {
					contract.check(t, busy, tt.request, 429)
				}
			})
		}
		for _, operation := range contract.operations() {
			t.Run(operation.method+operation.path, func(t *testing.T) {
				t.Parallel()

				contract.check(t, g, operation, 401)
				operation.token = signedIn
				contract.check(t, away, operation, 503)
				contract.check(t, busy, operation, 429)
				operation.origin = "https://elsewhere.example.com"
				contract.check(t, g, operation, 403)
			})
		}
	})

	require.Empty(t, contract.unseen(), "the document names answers that nobody saw")
}

// contract is the document that a gateway serves, and what was seen of it.
type contract struct {
	document *openapi3.T
	router   routers.Router
	mu       sync.Mutex
	seen     map[string]bool
}

func readContract(t *testing.T, g *contracted) *contract {
	t.Helper()
	_, answer, body := g.do(t, request{method: "GET", path: "/openapi.json"})
	require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
	document, err := openapi3.NewLoader().LoadFromData(body)
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context()))
	require.Equal(t, "3.1.0", document.OpenAPI)
	router, err := gorillamux.NewRouter(document)
	require.NoError(t, err)
	return &contract{document: document, router: router, seen: map[string]bool{}}
}

// check sends a request and holds the answer to the document. What succeeds must be a
// request that the document allows, and what is refused for its form one that it forbids.
func (c *contract) check(t *testing.T, g *contracted, r request, want int) {
	t.Helper()
	sent, answer, body := g.do(t, r)
	require.Equal(t, want, answer.StatusCode, "%s", body)
	sent.URL.Scheme, sent.URL.Host = "", ""
	route, parameters, err := c.router.FindRoute(sent)
	require.NoError(t, err)
	options := &openapi3filter.Options{
		IncludeResponseStatus: true, MultiError: true, RejectWhenRequestBodyNotSpecified: true,
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
	}
	input := &openapi3filter.RequestValidationInput{Request: sent, PathParams: parameters, Route: route, Options: options}
	if want < 300 {
		require.NoError(t, openapi3filter.ValidateRequest(t.Context(), input))
	}
	require.NoError(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: answer.StatusCode, Header: answer.Header, Body: io.NopCloser(bytes.NewReader(body)), Options: options,
	}))
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	if want == http.StatusNoContent {
		require.Empty(t, body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[outcome(sent.Method, route.Path, want)] = true
}

func outcome(method, path string, status int) string {
	return fmt.Sprint(method, " ", path, " ", status)
}

// operations are requests for all that the document has for whoever is signed in, with what
// each needs.
func (c *contract) operations() []request {
	var all []request
	for path, item := range c.document.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.Security != nil && len(*operation.Security) == 0 {
				continue // nobody signs in for it
			}
			r := request{method: method, path: strings.Replace(path, "{id}", "7", 1)}
			switch {
			case method == http.MethodPut:
				r.body = "{}"
			case strings.HasSuffix(path, "/read-all"):
				r.path += "?until=7"
			}
			all = append(all, r)
		}
	}
	return all
}

// unseen are the answers that the document names and nobody has seen.
func (c *contract) unseen() []string {
	var unseen []string
	for path, item := range c.document.Paths.Map() {
		for method, operation := range item.Operations() {
			for status := range operation.Responses.Map() {
				if key := method + " " + path + " " + status; !c.seen[key] {
					unseen = append(unseen, key)
				}
			}
		}
	}
	slices.Sort(unseen)
	return unseen
}
