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

// Access decides who may use the console, and for what. On a loopback address, everybody who reaches it
// acts as Actor. Elsewhere a proxy signs people in.
type Access struct {
	Actor        string // the name in the audit, without UserHeader
	UserHeader   string // CONSOLE_USER_HEADER: the header in which the proxy names the person
	GroupsHeader string // CONSOLE_GROUPS_HEADER: the header with the person's groups, with commas; empty: everybody has every role
	Roles        Roles  // CONSOLE_ROLES: the groups of each role
	Origin       string // CONSOLE_ORIGIN: the address that browsers see, such as https://herald.example
	WebUI        string // CONSOLE_WEB_UI_ORIGIN: Temporal's Web UI, whose pages may decrypt payloads; empty: none may
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
	case a.GroupsHeader != "" && a.UserHeader == "":
		return errors.New("CONSOLE_GROUPS_HEADER needs CONSOLE_USER_HEADER: set it to the header in which your proxy names the person")
	case a.GroupsHeader != "" && a.Roles == nil:
		return errors.New("CONSOLE_GROUPS_HEADER needs CONSOLE_ROLES: name the groups of each role, such as viewer=*,operator=oncall+sre")
	case a.GroupsHeader == "" && a.Roles != nil:
		return errors.New("CONSOLE_ROLES needs CONSOLE_GROUPS_HEADER: set it to the header in which your proxy names the person's groups")
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

// person returns who sent a request. On a loopback address, a request for another host is refused: a
// page of another site may have pointed its name to our address.
func (a Access) person(r *http.Request) (person, error) {
	if a.UserHeader == "" {
		host := r.Host
		if name, _, err := net.SplitHostPort(r.Host); err == nil {
			host = name
		}
		if !isLoopback(strings.Trim(host, "[]")) {
			return person{}, &refusal{http.StatusForbidden, "Open the console by its loopback address."}
		}
		return person{Name: a.Actor, Roles: allRoles}, nil
	}
	name, ok := single(r.Header, a.UserHeader)
	if !ok || name == "" || len(name) > maxActor || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return person{}, &refusal{http.StatusForbidden, "The proxy did not say who you are."}
	}
	if a.GroupsHeader == "" {
		return person{Name: name, Roles: allRoles}, nil
	}
	list, ok := single(r.Header, a.GroupsHeader)
	if !ok {
		return person{}, &refusal{http.StatusForbidden, "The proxy named your groups twice."}
	}
	groups := groupsOf(list)
	return person{name, groups, a.Roles.of(groups), a.Roles}, nil
}

// single returns the value of a header; empty: the request lacks it. ok is false if the request has the header
// more than once: one of them may be the sender's own.
func single(header http.Header, name string) (value string, ok bool) {
	return header.Get(name), len(header.Values(name)) <= 1
}

// groupsOf reads the header with a person's groups.
func groupsOf(list string) (groups []string) {
	for group := range strings.SplitSeq(list, ",") {
		if group = strings.TrimSpace(group); group != "" {
			groups = append(groups, group)
		}
	}
	return groups
}

// policy lets a page load styles, scripts and itself only from the console. No inline script runs, and no
// page may frame it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'"

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
		header.Add("Vary", "Accept")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		who, err := c.Access.person(r)
		if err != nil {
			c.refuse(w, r, err)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), personKey{}, who))
		if r.Header.Get("Herald-Refresh") != "" && len(c.slots) >= maxRefreshing {
			http.Error(w, "the console is busy", http.StatusTooManyRequests)
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
		inner.ServeHTTP(w, r)
	})
}
