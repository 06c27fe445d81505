package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"herald/internal/advice"
	"herald/internal/explain"
	"herald/internal/notification"
)

// templatePage is the data of the preview: the form, and the text or the error.
type templatePage struct {
	Event, Type, Payload, Recipient, Channel, Locale string
	Digest                                           bool

	Denied    string // why the person may not preview; empty: they may
	OwnDenied string // why they may not write a type and a payload; empty: they may

	Channels []notification.Channel
	Preview  *explain.Preview
	Problem  string
	Next     string
}

func (c *Console) templates(ctx context.Context, r *http.Request) (page, error) {
	who, query := personOf(ctx), r.URL.Query()
	data := templatePage{
		Event: query.Get("event"), Recipient: query.Get("recipient"), Channel: query.Get("channel"), Channels: notification.Channels(),
		Denied: who.denied("POST /templates"), OwnDenied: who.denied(ownPayload),
	}
	return page{name: "templates", title: "Templates", data: data}, nil
}

// preview renders the text that a recipient would get. It sends nothing.
func (c *Console) preview(ctx context.Context, r *http.Request) (page, error) {
	form := r.PostForm
	if form.Get("type") != "" || form.Get("payload") != "" {
		if err := personOf(ctx).refusal(ownPayload); err != nil {
			return page{}, err
		}
	}
	data := templatePage{
		Event: form.Get("event"), Type: form.Get("type"), Payload: form.Get("payload"), Recipient: form.Get("recipient"),
		Channel: form.Get("channel"), Locale: form.Get("locale"), Digest: form.Get("digest") != "", Channels: notification.Channels(),
		OwnDenied: personOf(ctx).denied(ownPayload),
	}
	preview, err := c.previewOf(ctx, data)
	var advised *advice.Error
	var refused *refusal
	switch {
	case err == nil:
		data.Preview = &preview
	case errors.As(err, &advised):
		data.Problem, data.Next = err.Error(), advised.Next
	case errors.As(err, &refused):
		data.Problem = refused.text
	default:
		return page{}, err
	}
	return page{name: "templates", title: "Templates", data: data}, nil
}

func (c *Console) previewOf(ctx context.Context, data templatePage) (explain.Preview, error) {
	in := explain.PreviewRequest{EventID: data.Event, Type: data.Type, Locale: data.Locale, Digest: data.Digest}
	who, err := recipientOf(data.Recipient)
	if err != nil {
		return explain.Preview{}, err
	}
	in.UserType, in.UserID = who.UserType, who.UserID
	if in.Channel, err = channelOf(data.Channel); err != nil {
		return explain.Preview{}, err
	}
	var object map[string]any
	switch {
	case data.Event != "" && data.Payload == "":
	case data.Event != "" || data.Type == "":
		return explain.Preview{}, &refusal{http.StatusBadRequest, "Name an event, or a type with a payload."}
	case json.Unmarshal([]byte(data.Payload), &object) != nil:
		return explain.Preview{}, &refusal{http.StatusBadRequest, "The payload is no JSON object."}
	default:
		in.Payload = json.RawMessage(data.Payload)
	}
	return c.Explain.Preview(ctx, in)
}
