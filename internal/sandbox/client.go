package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// textTimeout bounds a text: the gateway may be tried twice.
const textTimeout = 2*postTimeout + 5*time.Second

// SendText has the sandbox at baseURL pass a text on. The sandbox's reason to refuse, or the
// gateway's status, is in the error.
func SendText(ctx context.Context, baseURL string, text Text) (AnsweredText, error) {
	ctx, cancel := context.WithTimeout(ctx, textTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, baseURL+"/texts", bytes.NewReader(mustMarshal(text)))
	if err != nil {
		return AnsweredText{}, fmt.Errorf("ask the sandbox: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return AnsweredText{}, fmt.Errorf("ask the sandbox: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return AnsweredText{}, fmt.Errorf("ask the sandbox: %w", err)
	}
	var answer struct {
		AnsweredText

		Error string `json:"error"`
	}
	switch err := json.Unmarshal(body, &answer); {
	case answer.Error != "":
		return AnsweredText{}, errors.New(answer.Error)
	case err != nil || response.StatusCode != http.StatusOK:
		return AnsweredText{}, fmt.Errorf("ask the sandbox: it answered %d", response.StatusCode)
	default:
		return answer.AnsweredText, nil
	}
}
