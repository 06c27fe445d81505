// Package reason says in one sentence why somebody gets a message.
package reason

import (
	"embed"
	"encoding/json"
	"strings"
	"sync"

	"golang.org/x/text/language"

	"herald/internal/notification"
)

// languages are the languages of the sentences, each with a file. English is for all others.
var languages = []string{"en", "it", "de", "fr", "es"}

//go:embed texts/*.json
var files embed.FS

// sentences are the sentences of one language: {entity} and {role} are replaced.
type sentences struct {
	Everybody, Admin, Customer string

	Follower string
	Member   string            // no role is known
	Role     string            // a role that Roles does not have
	Roles    map[string]string // by role
	Entities map[string]string // words for types of entity; others are written as they are
}

// all reads the files once. They are a part of the program, so an error is a mistake of its build.
var all = sync.OnceValues(func() (language.Matcher, []sentences) {
	var tags []language.Tag
	read := make([]sentences, len(languages))
	for i, name := range languages {
		tags = append(tags, language.MustParse(name))
		text, err := files.ReadFile("texts/" + name + ".json")
		if err == nil {
			err = json.Unmarshal(text, &read[i])
		}
		if err != nil {
			panic(err)
		}
	}
	return language.NewMatcher(tags), read
})

// Why is the path by which an event reached a recipient.
type Why struct {
	Entity     notification.Entity // through which the event named them; the zero value: unknown
	EntityName string              // what people call it; empty: its type and id
	MemberRole string              // as in [notification.Recipient]
}

// Of returns the path by which an event reached a recipient.
func Of(r notification.Recipient) Why {
	return Why{Entity: r.Entity, EntityName: r.EntityName, MemberRole: r.MemberRole}
}

// OfMessage returns how an event reached the recipient of a message.
func OfMessage(m notification.Message) Why {
	return Why{Entity: m.Entity, EntityName: m.EntityName, MemberRole: m.MemberRole}
}

// Sentence says in the language of a locale why the recipient gets the message: you follow order 7. It
// has no capital letter and no full stop. Empty: the entity is unknown.
func (w Why) Sentence(locale string) string {
	return w.in(sentencesFor(locale))
}

// Name returns in the language of a locale what people call the entity: Trattoria, order 7.
func (w Why) Name(locale string) string { return w.entity(sentencesFor(locale)) }

func sentencesFor(locale string) sentences {
	matcher, read := all()
	_, i, confidence := matcher.Match(language.Make(strings.ReplaceAll(locale, "_", "-")))
	if confidence == language.No {
		i = 0
	}
	return read[i]
}

func (w Why) in(s sentences) string {
	switch w.Entity.Type {
	case "":
		return ""
	case notification.EntityBroadcast:
		return s.Everybody
	case notification.EntityAdmin:
		return s.Admin
	case notification.EntityCustomer:
		return s.Customer
	}
	sentence, known := s.Roles[w.MemberRole]
	switch {
	case w.MemberRole == "":
		sentence = s.Member
	case w.MemberRole == notification.Follower:
		sentence = s.Follower
	case !known:
		sentence = s.Role
	}
	return strings.NewReplacer("{entity}", w.entity(s), "{role}", words(w.MemberRole)).Replace(sentence)
}

// entity returns the entity's name, or its type and id: order 7.
func (w Why) entity(s sentences) string {
	if w.EntityName != "" {
		return w.EntityName
	}
	word, known := s.Entities[w.Entity.Type]
	if !known {
		word = words(w.Entity.Type)
	}
	return strings.TrimSpace(word + " " + w.Entity.ID)
}

// words writes a name of the database for people: HEAD_CHEF as head chef.
func words(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", " ")) }
