package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
)

// Access decides who may use the console. On a loopback address, everybody who reaches it acts as Actor.
// Elsewhere a proxy signs people in.
type Access struct {
	Actor      string // the name in the audit, without UserHeader
	UserHeader string // CONSOLE_USER_HEADER: the header in which the proxy names the person
	Origin     string // CONSOLE_ORIGIN: the address that browsers see, such as https://herald.example
	WebUI      string // CONSOLE_WEB_UI_ORIGIN: Temporal's Web UI, whose pages may decrypt payloads; empty: none may
}

const maxActor = 100 // bytes, as for HERALD_ACTOR

// Check returns an error if people could use a console at addr without signing in.
func (a Access) Check(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--addr must be a host and a port, such as 127.0.0.1:8083: %w", err)
	}
	switch {
	case a.Origin != "" && !isOrigin(a.Origin):
		return errors.New("CONSOLE_ORIGIN must be a scheme and a host, such as https://herald.example")
	case a.WebUI != "" && !isOrigin(a.WebUI):
		return errors.New("CONSOLE_WEB_UI_ORIGIN must be a scheme and a host, such as https://temporal.example")
	case (a.UserHeader == "") != (a.Origin == ""):
		return errors.New("CONSOLE_USER_HEADER and CONSOLE_ORIGIN need each other: set both")
	case a.UserHeader == "" && !isLoopback(host):
		return fmt.Errorf("%s is not a loopback address, so anybody could use the console: set CONSOLE_USER_HEADER to the header in which your "+
			"proxy names the signed-in person, and CONSOLE_ORIGIN to the console's public address",
			host)
	}
	return nil
}

func isOrigin(text string) bool {
	origin, err := url.Parse(text)
	return err == nil && origin.Scheme != "" && origin.Host != "" && text == origin.Scheme+"://"+origin.Host
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// actor returns the name of the person who sent a request. On a loopback address, a request for
// another host is refused: a page of another site may have pointed its name to our address.
func (a Access) actor(r *http.Request) (string, error) {
	if a.UserHeader == "" {
		host := r.Host
		if name, _, err := net.SplitHostPort(r.Host); err == nil {
			host = name
		}
		if !isLoopback(strings.Trim(host, "[]")) {
			return "", &refusal{http.StatusForbidden, "Open the console by its loopback address."}
		}
		return a.Actor, nil
	}
	name := r.Header.Get(a.UserHeader)
	if name == "" || len(name) > maxActor || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", &refusal{http.StatusForbidden, "The proxy did not say who you are."}
	}
	return name, nil
}

type actorKey struct{}

func actorOf(ctx context.Context) string {
	name, _ := ctx.Value(actorKey{}).(string)
	return name
}

// policy lets a page load styles only from the console. No script runs, and no page may frame it.
const policy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guarded refuses requests of people who are not signed in, forms from pages of other origins,
// large bodies, and too many requests at once.
func (c *Console) guarded(next http.Handler, origin string, maxBody int64) http.Handler {
	protection := http.NewCrossOriginProtection()
	if origin != "" {
		_ = protection.AddTrustedOrigin(origin) // Access.Check has parsed it
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.refuse(w, r, &refusal{http.StatusForbidden, "This form is from another page. Open the console and use its form."})
	}))
	inner := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("Cache-Control", "no-store")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		actor, err := c.Access.actor(r)
		if err != nil {
			c.refuse(w, r, err)
			return
		}
		select {
		case c.slots <- struct{}{}:
			defer func() { <-c.slots }()
		default:
			header.Set("Retry-After", "1")
			c.refuse(w, r, &refusal{http.StatusTooManyRequests, "Too many pages load at the same time. Load this one again."})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), actorKey{}, actor)))
	})
}
