package main

import (
	"fmt"
	"strings"
)

// contractCase is a request of somebody who is signed in, and the status of its answer.
type contractCase struct {
	name    string
	request request
	want    int
}

// contractCases are requests for every path, well formed and not. They are of somebody who
// has three notifications, and one is another's.
func contractCases(mine []int64, theirs int64) []contractCase {
	path := func(format string, id int64) string { return fmt.Sprintf(format, id) }
	const (
		list, count, all = "/api/notifications", "/api/notifications/unread-count", "/api/notifications/read-all"
		preferences      = "/api/preferences"
		ticket           = "/api/ws-ticket"
		code             = "/api/inbox-code"
	)
	long := strings.Repeat(" ", 64<<10) + "{}"
	return []contractCase{
		{"list", request{method: "GET", path: list}, 200},
		{"a page of the unread", request{method: "GET", path: path(list+"?unread=true&limit=1&before=%d", mine[2])}, 200},
		{"list, limit too large", request{method: "GET", path: list + "?limit=101"}, 400},
		{"list, limit too small", request{method: "GET", path: list + "?limit=0"}, 400},
		{"list, limit no number", request{method: "GET", path: list + "?limit=many"}, 400},
		{"list, limit empty", request{method: "GET", path: list + "?limit="}, 400},
		{"list, unread no boolean", request{method: "GET", path: list + "?unread=1"}, 400},
		{"list, before no id", request{method: "GET", path: list + "?before=-7"}, 400},
		{"list, unknown parameter", request{method: "GET", path: list + "?user_id=11"}, 400},
		{"list, parameter twice", request{method: "GET", path: list + "?limit=1&limit=2"}, 400},
		{"list, query that is not encoded", request{method: "GET", path: list + "?limit=%zz"}, 400},
		{"list, before another's", request{method: "GET", path: path(list+"?before=%d", theirs)}, 404},
		{"count", request{method: "GET", path: count}, 200},
		{"count, parameter", request{method: "GET", path: count + "?of=11"}, 400},
		{"read", request{method: "POST", path: path("/api/notifications/%d/read", mine[0])}, 204},
		{"read again", request{method: "POST", path: path("/api/notifications/%d/read", mine[0])}, 204},
		{"read, with a body", request{method: "POST", path: path("/api/notifications/%d/read", mine[0]), body: "{}"}, 400},
		{"read, with a query", request{method: "POST", path: path("/api/notifications/%d/read?all=1", mine[0])}, 400},
		{"read another's", request{method: "POST", path: path("/api/notifications/%d/read", theirs)}, 404},
		{"read what nobody has", request{method: "POST", path: "/api/notifications/999999/read"}, 404},
		{"read what cannot be", request{method: "POST", path: "/api/notifications/99999999999999999999/read"}, 404},
		{"read, body too large", request{method: "POST", path: path("/api/notifications/%d/read", mine[0]), body: long}, 413},
		{"read all", request{method: "POST", path: path(all+"?until=%d", mine[1])}, 204},
		{"read all until nothing", request{method: "POST", path: all}, 400},
		{"read all until no id", request{method: "POST", path: all + "?until=now"}, 400},
		{"read all until another's", request{method: "POST", path: path(all+"?until=%d", theirs)}, 404},
		{"read all, body too large", request{method: "POST", path: path(all+"?until=%d", mine[1]), body: long}, 413},
		{"preferences", request{method: "GET", path: preferences}, 200},
		{"preferences, parameter", request{method: "GET", path: preferences + "?user_id=11"}, 400},
		{"change", request{method: "PUT", path: preferences, body: `{"timezone":"Asia/Tokyo","channels":[{"channel":"PUSH","enabled":false,"quiet_hours":{"enabled":true,"start":"22:00","end":"08:00"}}],"categories":[{"category":"reservations","channels":[{"channel":"PUSH","enabled":false}]}]}`}, 204},
		{"change nothing", request{method: "PUT", path: preferences, body: `{}`, contentType: "application/json; charset=utf-8"}, 204},
		{"change, unknown member", request{method: "PUT", path: preferences, body: `{"user_id":"11"}`}, 400},
		{"change, no JSON", request{method: "PUT", path: preferences, body: `{"timezone":`}, 400},
		{"change, no body", request{method: "PUT", path: preferences, contentType: "application/json"}, 400},
		{"change, two bodies", request{method: "PUT", path: preferences, body: `{}{}`}, 400},
		{"change, wrong type", request{method: "PUT", path: preferences, body: `{"channels":"EMAIL"}`}, 400},
		{"change, body too large", request{method: "PUT", path: preferences, body: long}, 413},
		{"change by a form", request{method: "PUT", path: preferences, body: "timezone=UTC", contentType: "application/x-www-form-urlencoded"}, 415},
		{"change without a type", request{method: "PUT", path: preferences, contentType: "none", body: "{}"}, 415},
		{"change what is mandatory", request{method: "PUT", path: preferences, body: `{"categories":[{"category":"reservations","channels":[{"channel":"EMAIL","enabled":false}]}]}`}, 422},
		{"change, no such zone", request{method: "PUT", path: preferences, body: `{"timezone":"Europe/Atlantis"}`}, 422},
		{"ticket", request{method: "POST", path: ticket}, 201},
		{"ticket, with a body", request{method: "POST", path: ticket, body: `{"user_id":"11"}`}, 400},
		{"ticket, body too large", request{method: "POST", path: ticket, body: long}, 413},
		{"code", request{method: "POST", path: code}, 201},
		{"code, with a body", request{method: "POST", path: code, body: `{"user_id":"11"}`}, 400},
		{"code, body too large", request{method: "POST", path: code, body: long}, 413},
	}
}

// sessionCases are requests of a page that changes a code for a token.
func sessionCases(code string) []contractCase {
	const session = "/api/session"
	return []contractCase{
		{"session", request{method: "POST", path: session, body: `{"code":"` + code + `"}`}, 201},
		{"session by no code", request{method: "POST", path: session, body: `{"code":"x"}`}, 401},
		{"session, unknown member", request{method: "POST", path: session, body: `{"token":"x"}`}, 400},
		{"session by a form", request{method: "POST", path: session, body: "code=x", contentType: "application/x-www-form-urlencoded"}, 415},
		{"session, body too large", request{method: "POST", path: session, body: `{"code":"` + strings.Repeat("x", 64<<10) + `"}`}, 413},
		{"session, from elsewhere", request{method: "POST", path: session, body: `{"code":"x"}`, origin: "https://elsewhere.example.com"}, 403},
	}
}
