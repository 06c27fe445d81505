package operate

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// FormLife is the time in which a person may read a plan and confirm it.
	FormLife = time.Hour
	// MaxReason limits the reason of a confirmed plan, in bytes.
	MaxReason = 500
)

// Forms signs the forms that change something: a page of the console, or the plan of a tool. A form
// belongs to one person, one change and the plan that the person saw. Its id is recorded with the
// change, so it works once.
type Forms struct{ Key []byte }

// Issue returns the token of a form: its id, its end and the signature.
func (f Forms) Issue(now time.Time, binds ...string) string {
	id, until := rand.Text(), strconv.FormatInt(now.Add(FormLife).Unix(), 10)
	return strings.Join([]string{id, until, f.sign(id, until, binds)}, ".")
}

// ID returns the id of a valid form. ok is false if the form is too old, or if it is for another
// person, change or plan.
func (f Forms) ID(now time.Time, token string, binds ...string) (id string, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", false
	}
	until, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || now.Unix() > until || !hmac.Equal([]byte(parts[2]), []byte(f.sign(parts[0], parts[1], binds))) {
		return "", false
	}
	return parts[0], true
}

func (f Forms) sign(id, until string, binds []string) string {
	mac := hmac.New(sha256.New, f.Key)
	for _, text := range append([]string{id, until}, binds...) {
		_ = binary.Write(mac, binary.BigEndian, uint64(len(text))) // a hash takes everything
		_, _ = io.WriteString(mac, text)
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// FitReason reports whether a reason can be recorded with a form: one line of up to [MaxReason] bytes.
func FitReason(reason string) bool {
	return reason != "" && len(reason) <= MaxReason && !strings.ContainsFunc(reason, func(r rune) bool { return !unicode.IsPrint(r) })
}
