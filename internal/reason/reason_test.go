package reason_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/reason"
)

// Each language has every sentence.
func TestSentence(t *testing.T) {
	t.Parallel()

	trattoria := reason.Why{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, EntityName: "Trattoria"}
	order := reason.Why{Entity: notification.Entity{Type: "ORDER", ID: "7"}}
	parcel := reason.Why{Entity: notification.Entity{Type: "BIG_PARCEL", ID: "8"}}
	as := func(w reason.Why, role string) reason.Why {
		w.MemberRole = role
		return w
	}
	of := func(entityType string) reason.Why {
		return reason.Why{Entity: notification.Entity{Type: entityType, ID: "0"}}
	}
	whys := []reason.Why{
		of("BROADCAST"), of("ADMIN"), of("CUSTOMER"), as(order, "FOLLOWER"), as(parcel, "FOLLOWER"), trattoria, as(trattoria, "MANAGER"),
		as(trattoria, "STAFF"), as(trattoria, "AGENT"), as(trattoria, "HEAD_CHEF"),
	}
	for locale, want := range map[string][]string{
		"en": {"it was sent to everybody", "you are an administrator", "you are the customer", "you follow order 7", "you follow big parcel 8",
			"you belong to Trattoria", "you are a manager of Trattoria", "you belong to the staff of Trattoria", "you are an agent of Trattoria",
			"your role at Trattoria is head chef"},
		"it-CH": {"questo messaggio è stato inviato a tutti", "tra i destinatari ci sono tutti gli amministratori",
			"il messaggio riguarda il tuo profilo cliente", "segui: ordine 7", "segui: big parcel 8", "fai parte di: Trattoria",
			"il tuo ruolo (Trattoria): manager", "fai parte del personale (Trattoria)", "il tuo ruolo (Trattoria): agente",
			"il tuo ruolo (Trattoria): head chef"},
		"de_AT": {"diese Nachricht ging an alle", "diese Nachricht ging an alle in der Administration", "es geht um Ihr Kundenkonto",
			"Sie folgen: Bestellung 7", "Sie folgen: big parcel 8", "Sie gehören dazu: Trattoria", "Ihre Rolle (Trattoria): Leitung",
			"Sie gehören zum Personal (Trattoria)", "Sie gehören zur Agentur (Trattoria)", "Ihre Rolle (Trattoria): head chef"},
		"fr": {"ce message a été envoyé à tout le monde", "ce message a été envoyé à toute l’administration",
			"ce message concerne votre compte client", "vous suivez : commande 7", "vous suivez : big parcel 8",
			"vous faites partie de : Trattoria", "votre rôle (Trattoria) : responsable", "vous faites partie du personnel (Trattoria)",
			"votre rôle (Trattoria) : agent", "votre rôle (Trattoria) : head chef"},
		"es-MX": {"este mensaje se envió a todo el mundo", "este mensaje se envió a toda la administración",
			"este mensaje se refiere a tu cuenta de cliente", "sigues: pedido 7", "sigues: big parcel 8", "formas parte de: Trattoria",
			"tu función (Trattoria): gerente", "formas parte del personal (Trattoria)", "tu función (Trattoria): agente",
			"tu función (Trattoria): head chef"},
	} {
		for i, why := range whys {
			require.Equal(t, want[i], why.Sentence(locale), locale)
		}
	}
	for _, locale := range []string{"", "ja", "not a locale", "en-GB"} {
		require.Equal(t, "you follow order 7", as(order, "FOLLOWER").Sentence(locale), locale)
	}
	require.Empty(t, reason.Why{}.Sentence("en"), "the entity is unknown")
	require.Equal(t, []string{"Bestellung 7", "commande 7", "order 7", "Trattoria"},
		[]string{order.Name("de-CH"), order.Name("fr"), order.Name("ja"), trattoria.Name("de")})
	require.Equal(t, "you follow {role}", reason.Why{Entity: order.Entity, EntityName: "{role}", MemberRole: "FOLLOWER"}.Sentence("en"))
}
