package console

import "net/http"

// maxPayloads limits the bytes of a request of the codec. Temporal's answers have up to 4 MiB, and
// base64 adds a third.
const maxPayloads = 6 << 20

// codec serves /codec/decode and /codec/encode for Temporal's Web UI and CLI, to the people who may
// use the console. Only pages of the Web UI's origin may call it and read its answers.
func (c *Console) codec() http.Handler {
	allowed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := personOf(r.Context()).refusal("/codec/"); err != nil {
			c.refuse(w, r, err)
			return
		}
		c.Codec.ServeHTTP(w, r)
	})
	guarded := c.guarded(allowed, c.Access.WebUI, maxPayloads)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Add("Vary", "Origin")
		if c.Access.WebUI != "" && r.Header.Get("Origin") == c.Access.WebUI {
			header.Set("Access-Control-Allow-Origin", c.Access.WebUI)
			header.Set("Access-Control-Allow-Credentials", "true")
			header.Set("Access-Control-Allow-Methods", "POST")
			header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
		}
		if r.Method == http.MethodOptions { // browsers ask without signing in, and get only these headers
			w.WriteHeader(http.StatusNoContent)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}
