package testbed

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
)

// Fault sets a channel's fault in the sandbox at an address, in the sandbox's JSON; "": none.
func Fault(ctx context.Context, sandbox, channel, fault string) error {
	method := http.MethodPut
	if fault == "" {
		method = http.MethodDelete
	}
	request, err := http.NewRequestWithContext(ctx, method, sandbox+"/faults/"+channel, strings.NewReader(fault))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("the sandbox refuses the fault %s of %s: %s", cmp.Or(fault, "(none)"), channel, answer.Status)
	}
	return nil
}
