package inbox

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"time"

	"herald/internal/web/problem"
)

//go:embed page openapi.json
var files embed.FS

// policy lets the page load files from, and send requests to, only its server. Inline scripts and
// scripts of other origins do not run, and no other page may frame it.
const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types herald"

// Page holds what the page gets from its gateway.
type Page struct {
	Demo    bool   // the page asks people who they are
	PushKey string // public key of our Web Push, in base64url; empty: the page offers no browser notifications
}

// Handler returns the page at /, with its style and scripts, and the document at /openapi.json. The
// service worker is at the same level as the page, so that it may serve it.
func (p Page) Handler() http.Handler {
	mux := http.NewServeMux()
	index := read("page/index.html")
	if p.Demo {
		index = bytes.Replace(index, []byte(`data-demo="false"`), []byte(`data-demo="true"`), 1)
	}
	index = bytes.Replace(index, []byte(`data-push-key=""`), []byte(`data-push-key="`+p.PushKey+`"`), 1)
	mux.Handle("GET /{$}", file("text/html; charset=utf-8", index))
	mux.Handle("GET /style.css", file("text/css; charset=utf-8", Style()))
	for _, script := range []string{"script.js", "service-worker.js"} {
		mux.Handle("GET /"+script, file("text/javascript; charset=utf-8", read("page/"+script)))
	}
	mux.Handle("GET /openapi.json", file("application/json", read("openapi.json")))
	mux.HandleFunc("/", noSuchPath)
	return mux
}

func noSuchPath(w http.ResponseWriter, _ *http.Request) {
	problem.Write(w, http.StatusNotFound, "there is no such path: see /openapi.json")
}

// Style returns the stylesheet of all pages: inbox, unsubscribing and console.
func Style() []byte { return read("page/style.css") }

// read returns an embedded file. A missing file stops the process at its start.
func read(name string) []byte {
	content, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return content
}

// file serves a file with an ETag. Browsers check it on each load, so that they get a new release
// at once.
func file(contentType string, content []byte) http.Handler {
	sum := sha256.Sum256(content)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", contentType)
		header.Set("Cache-Control", "no-cache")
		header.Set("ETag", tag)
		header.Set("Content-Security-Policy", policy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
